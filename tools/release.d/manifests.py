"""What package managers load the archives by: a krew manifest and a Homebrew formula."""

from files import read, sha256, write

WHAT_IT_DOES = """\
Reads a Kubernetes cluster straight out of etcd: a live etcd, a snapshot, or the disk of a dead control plane, with the API server down if need be.
It shows every object at any revision that is still there, what changed, when, and who changed it, and why each pod runs on its node or on none.
It never writes to etcd.
"""


def write_krew(build, url, archives):
    """Writes the manifest by which krew installs `kubectl forensics`."""
    lines = [
        "apiVersion: krew.googlecontainertools.github.com/v1alpha2",
        "kind: Plugin",
        "metadata:",
        "  name: forensics",
        "spec:",
        f"  version: v{build.version}",
        *([f"  homepage: {build.homepage}"] if build.homepage else []),
        "  shortDescription: Read Kubernetes and its past straight out of etcd",
        "  description: |",
        *(f"    {line}" for line in WHAT_IT_DOES.splitlines()),
        "  caveats: |",
        "    It reads etcd itself: run it where etcd and a client certificate are, on a control plane node, or give it a snapshot with -f.",
        "  platforms:",
    ]
    for architecture, name in archives.items():
        lines += [
            "  - selector:",
            "      matchLabels:",
            "        os: linux",
            f"        arch: {architecture}",
            f"    uri: {url}/{name}",
            f"    sha256: {sha256(read(f'{build.out}/{name}'))}",
            "    bin: ketcd",
            "    files:",
            "    - from: ketcd",
            "      to: .",
            "    - from: LICENSE",
            "      to: .",
            "    - from: LICENSES.md",
            "      to: .",
        ]
    write(f"{build.out}/forensics.yaml", "\n".join(lines) + "\n")


def write_formula(build, url, archives):
    """Writes the formula by which Homebrew on Linux installs ketcd."""
    sources = []
    for architecture, cpu in (("amd64", "intel"), ("arm64", "arm")):
        name = archives[architecture]
        sources += [f"    on_{cpu} do", f'      url "{url}/{name}"', f'      sha256 "{sha256(read(f"{build.out}/{name}"))}"', "    end"]
    lines = [
        "class Ketcd < Formula",
        '  desc "Reads Kubernetes out of etcd: objects, their history, and why pods run where they run"',
        *([f'  homepage "{build.homepage}"'] if build.homepage else []),
        f'  version "{build.version}"',
        f'  license "{build.package["license"]}"',
        "",
        "  depends_on :linux",
        "",
        "  on_linux do",
        *sources,
        "  end",
        "",
        "  def install",
        '    bin.install "ketcd"',
        '    man1.install Dir["man/*.1"]',
        '    bash_completion.install "completions/ketcd"',
        '    zsh_completion.install "completions/_ketcd"',
        '    fish_completion.install "completions/ketcd.fish"',
        '    prefix.install "LICENSES.md"',
        "  end",
        "",
        "  test do",
        '    assert_match version.to_s, shell_output("#{bin}/ketcd --version")',
        "  end",
        "end",
    ]
    write(f"{build.out}/ketcd.rb", "\n".join(lines) + "\n")
