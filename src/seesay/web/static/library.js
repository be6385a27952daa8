// What the library holds, how far indexing is, and how the page looks.

import * as api from "./api.js";
import { $, element } from "./dom.js";
import { plural } from "./words.js";

const WHILE_BUSY = 1000;
const WHILE_IDLE = 20000;

export class LibraryView {
  // `onAdded` is told how many photos the last look has added.
  constructor({ onAdded }) {
    this.onAdded = onAdded;
    this.runs = null;
    this.dialog = $("library");
    $("show-library").addEventListener("click", () => this.open());
    $("close-library").addEventListener("click", () => this.dialog.close());
    $("look").addEventListener("click", () => this.look());
    $("theme").addEventListener("click", turn);
    $("failures").addEventListener("toggle", () => this.listFailures());
  }

  open() {
    this.dialog.showModal();
    this.follow();
  }

  async look() {
    $("look").disabled = true;
    try {
      await api.index();
      this.asked = true;
    } catch (error) {
      $("library-state").textContent = error.message;
    }
    await this.follow();
  }

  // Ask how things are, show it, and ask again: soon while something happens, seldom while nothing does.
  async follow() {
    clearTimeout(this.waiting);
    let busy = false;
    try {
      const status = await api.status();
      const before = this.runs;
      this.runs = status.indexing.runs;
      const finished = before !== null && this.runs > before;
      busy = status.indexing.state !== "idle" || this.runs === 0 || (this.asked && !finished);
      if (finished) this.asked = false;
      this.show(status, busy);
      if (status.photos !== this.photos && this.photos !== undefined) this.onAdded(status.photos - this.photos, finished);
      this.photos = status.photos;
    } catch (error) {
      $("show-library").className = "about lost";
      $("count").textContent = "not connected";
      $("progress").hidden = true;
    }
    this.waiting = setTimeout(() => this.follow(), busy ? WHILE_BUSY : WHILE_IDLE);
  }

  show(status, busy) {
    const { indexing } = status;
    const counted = indexing.state === "indexing" && indexing.total > 0;
    $("show-library").className = `about ${busy ? "busy" : ""} ${status.agrees ? "" : "lost"}`;
    $("count").textContent = counted ? `${indexing.done} of ${plural(indexing.total, "photo")}` : plural(status.photos, "photo");
    const bar = $("progress");
    bar.hidden = !busy;
    if (counted) {
      bar.max = indexing.total;
      bar.value = indexing.done;
    } else bar.removeAttribute("value");
    $("look").disabled = busy;
    $("library-state").textContent = counted
      ? `Indexing ${indexing.folder}: ${indexing.done} of ${indexing.total}. What is done can be found already.`
      : busy ? "Looking for new photos …" : `${plural(status.photos, "photo")}, up to date.`;
    $("folders").replaceChildren(
      ...status.folders.map((folder) =>
        element("li", {}, element("code", {}, folder.path), ` ${plural(folder.photos, "photo")}${folder.exists ? "" : ", not there at the moment"}`),
      ),
    );
    const problems = [...indexing.problems];
    if (!status.agrees) problems.push("The library was made with other weights. Type: seesay library rebuild");
    $("problems").replaceChildren(...problems.map((problem) => element("li", {}, problem)));
    $("failures").hidden = status.failures === 0;
    $("failures").querySelector("summary").textContent = `${plural(status.failures, "file")} could not be used`;
  }

  async listFailures() {
    if (!$("failures").open) return;
    const failures = await api.failures().catch(() => []);
    $("failures").querySelector("ul").replaceChildren(
      ...failures.slice(0, 200).map(({ path, reason }) => element("li", {}, element("code", {}, path), ` ${reason}`)),
    );
  }
}

// Dark or light as the system is, until somebody chooses.
export function dress() {
  const chosen = localStorage.getItem("theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
}

function turn() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
}
