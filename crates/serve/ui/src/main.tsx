// The page: with a server behind it, or with its data inside.
import { render } from "preact";
import { Page } from "./app";
import { Served, takeToken } from "./source/api";
import { Inside } from "./source/file";
import type { PackedData } from "./source/packed";
import type { Source } from "./source/source";
import "./style.css";

const sourceOf = (mount: HTMLElement): Source => {
  const data = document.getElementById("data");
  if (data) return new Inside(JSON.parse(data.textContent ?? "") as PackedData, document.getElementById("details")?.textContent || "[]");
  takeToken();
  return new Served(mount.dataset.api ?? "/ui/api/");
};

const mount = document.getElementById("page");
if (mount) render(<Page source={sourceOf(mount)} />, mount);
