"""Archives, Debian packages and the image."""

import json
import os

from build import ARCHITECTURES
from files import gzipped, read, sha256, tar, write


def documents(build):
    """What comes with every binary."""
    return [
        ("LICENSE", 0o644, read(f"{build.root}/LICENSE")),
        ("LICENSES.md", 0o644, read(f"{build.parts}/LICENSES.md")),
        ("README.md", 0o644, read(f"{build.root}/README.md")),
    ]


def write_archive(build, architecture, binary):
    """Writes a binary with its manuals, completions and licences; returns the archive's name."""
    entries = [("ketcd", 0o755, binary), *documents(build)]
    for folder, source in (("completions", f"{build.parts}/completions"), ("man", f"{build.root}/docs/man")):
        entries += [(f"{folder}/{name}", 0o644, read(f"{source}/{name}")) for name in sorted(os.listdir(source))]
    name = f"ketcd-{build.version}-linux-{architecture}.tar.gz"
    write(f"{build.out}/{name}", gzipped(tar(entries, build.when)))
    return name


def write_deb(build, architecture):
    """Writes a Debian package; Cargo.toml says what it consists of."""
    path = f"{build.out}/ketcd_{build.version}_{architecture}.deb"
    arguments = ["--no-build", "--no-strip", "--locked", "--profile", "dist", "--target", ARCHITECTURES[architecture], "--output", path]
    build.run(["cargo", "deb", *arguments], env=build.env())


def write_image(build, binaries):
    """Writes an image for all architectures as an OCI archive: a binary, the certificates of public CAs, and a folder for temporary files."""
    certificates = read(build.run([f"{build.tools}/venv/bin/python", "-c", "import certifi; print(certifi.where())"]).strip())
    blobs = {}

    def blob(media_type, data, **more):
        digest = sha256(data)
        blobs[digest] = data
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data), **more}

    def image(architecture, binary):
        folders = [(path, 0o755, None) for path in ("etc", "etc/ssl", "etc/ssl/certs")]
        files = [("etc/ssl/certs/ca-certificates.crt", 0o644, certificates), ("tmp", 0o1777, None), ("usr", 0o755, None)]
        layer = tar([*folders, *files, ("usr/bin", 0o755, None), ("usr/bin/ketcd", 0o755, binary)], build.when)
        config = {
            "architecture": architecture,
            "os": "linux",
            "created": build.time(),
            "config": {"Entrypoint": ["/usr/bin/ketcd"], "Env": ["PATH=/usr/bin"], "Labels": labels(build), "WorkingDir": "/"},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{sha256(layer)}"]},
            "history": [{"created": build.time(), "created_by": "tools/release"}],
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": blob("application/vnd.oci.image.config.v1+json", encoded(config)),
            "layers": [blob("application/vnd.oci.image.layer.v1.tar+gzip", gzipped(layer))],
        }
        platform = {"architecture": architecture, "os": "linux"}
        return blob("application/vnd.oci.image.manifest.v1+json", encoded(manifest), platform=platform)

    images = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [image(architecture, binary) for architecture, binary in binaries.items()],
    }
    # containerd takes the whole name, so that a pod's `image: ketcd:0.1.0` is this one.
    named = {"io.containerd.image.name": f"docker.io/library/ketcd:{build.version}", "org.opencontainers.image.ref.name": build.version}
    index = {"schemaVersion": 2, "manifests": [blob("application/vnd.oci.image.index.v1+json", encoded(images), annotations=named)]}
    entries = [("oci-layout", 0o644, encoded({"imageLayoutVersion": "1.0.0"})), ("index.json", 0o644, encoded(index))]
    entries += [(path, 0o755, None) for path in ("blobs", "blobs/sha256")]
    entries += [(f"blobs/sha256/{digest}", 0o644, data) for digest, data in sorted(blobs.items())]
    write(f"{build.out}/ketcd-{build.version}.oci.tar", tar(entries, build.when))


def labels(build):
    return {
        "org.opencontainers.image.title": "ketcd",
        "org.opencontainers.image.description": build.package["description"],
        "org.opencontainers.image.licenses": build.package["license"],
        "org.opencontainers.image.version": build.version,
    }


def encoded(value):
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()
