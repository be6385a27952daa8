// The page: one question at a time, its photos in a grid, one of them open.

import * as api from "./api.js";
import { $, debounce, element } from "./dom.js";
import { Filters } from "./filters.js";
import { Grid } from "./grid.js";
import { LibraryView, dress } from "./library.js";
import { address, asksSomething, changed, question, read } from "./state.js";
import { Viewer } from "./viewer.js";
import { plural } from "./words.js";

const WHILE_TYPING = 250;

dress();
let state = read();
let shown = null; // the question whose answer the grid shows
let upload = null; // a photo of the visitor's own, which no address can hold

const grid = new Grid({
  href: (photo) => address({ ...state, photo }),
  onOpen: (photo) => go({ photo: String(photo) }),
  isByScore: () => state.sort === "score",
});
const filters = new Filters({ onChange: (values) => go(values, { replace: true }) });
const viewer = new Viewer({
  onClose: (id) => {
    if (state.photo) go({ photo: "" });
    grid.focus(id);
  },
  onStep: step,
  onSearch: (changes) => {
    upload = null;
    go({ photo: "", ...changes });
    scrollTo({ top: 0 });
  },
});
const library = new LibraryView({ onAdded: welcome });

function go(changes, { replace = false } = {}) {
  const next = changed(state, changes);
  if (address(next) !== address(state)) history[replace ? "replaceState" : "pushState"](null, "", address(next));
  state = next;
  show();
}

async function show() {
  if ($("q") !== document.activeElement || !$("q").value.trim()) $("q").value = state.q;
  filters.show(state);
  const asked = JSON.stringify(question(state)) + (upload ? upload.name + upload.size : "");
  const searching = asked === shown ? null : find(asked);
  if (state.photo) {
    const item = grid.items.find(({ photo }) => String(photo.id) === state.photo);
    if (viewer.id !== Number(state.photo)) viewer.open(Number(state.photo), item, state.like || upload ? "" : state.q);
  } else viewer.close();
  await searching;
}

async function find(asked) {
  shown = asked;
  $("fresh").hidden = true;
  describe();
  const { look, ...parameters } = question(state);
  const load = async (offset, signal) => {
    if (upload) return results(await api.searchByPhoto(upload, { ...parameters, like: "", box: "", offset }, signal));
    if (asksSomething(state)) {
      const search = look === "parts" && !parameters.like ? api.searchRegions : api.search;
      return results(await search({ ...parameters, offset }, signal));
    }
    const { q, like, box, sort, minus, ...where } = parameters;
    const { photos, next } = await api.latest({ ...where, offset }, signal);
    return { items: photos.map((photo) => ({ photo })), next };
  };
  try {
    const found = await grid.show(load, { keep: asksSomething(state) });
    announce(found);
  } catch (error) {
    if (error.name === "AbortError" || shown !== asked) return;
    shown = null;
    grid.say("That did not work", [error.message, error.allowed && `Allowed: ${error.allowed}`, error.hint],
      element("button", { type: "button", onclick: show }, "Try again"));
    $("announce").textContent = error.message;
  }
}

const results = ({ results: items, next, unknown_words: unknown }) => ({ items, next, unknown });

function describe() {
  const similar = Boolean(upload || state.like);
  const words = state.q.trim() ? ` and “${state.q.trim()}”` : "";
  $("title").textContent = upload ? `Like your photo${words}`
    : state.box ? `Like this region${words}`
    : state.like ? `Like this photo${words}`
    : state.q.trim() ? `“${state.q.trim()}”` : "Latest photos";
  document.title = state.q.trim() ? `${state.q.trim()} · seesay` : "seesay";
  $("note").textContent = "";
  $("drop-example").hidden = $("example").hidden = !similar;
  if (!similar) return;
  const source = upload ? URL.createObjectURL(upload) : `/api/photos/${encodeURIComponent(state.like)}/thumbnail`;
  if (upload) $("example").addEventListener("load", () => URL.revokeObjectURL(source), { once: true });
  $("example").src = source;
  $("example").alt = upload ? "Your photo" : "The photo that others are compared with";
}

function announce({ items, next, unknown = [] }) {
  if (unknown.length) $("note").textContent = `Nothing is known of ${unknown.map((word) => `“${word}”`).join(", ")}: results may be off.`;
  if (items.length) {
    $("announce").textContent = `${plural(items.length, "photo")}${next === null ? "" : " and more"}`;
    return;
  }
  const filtered = $("active").children.length > 0;
  if (asksSomething(state) || upload || filtered) {
    grid.say("No photo fits", filtered ? "Fewer filters find more." : "Try other words.",
      filtered ? element("button", { type: "button", onclick: () => $("clear-filters").click() }, "Clear the filters") : null);
  } else {
    grid.say("There are no photos yet", ["Type this where seesay runs:"], element("pre", {}, "seesay serve ~/Pictures"));
  }
  $("announce").textContent = "No photos";
}

// Photos have come in: show them where nobody is reading, offer them where somebody is.
function welcome(added, finished) {
  const untouched = !asksSomething(state) && !upload && scrollY < 200 && !state.photo;
  if (untouched || !grid.items.length) {
    shown = null;
    show();
  } else if (finished || added > 0) {
    $("fresh").textContent = added > 0 ? `${plural(added, "photo")} came in: show them` : "The library has changed: show it";
    $("fresh").hidden = false;
  }
}

async function step(by) {
  const place = grid.items.findIndex(({ photo }) => photo.id === viewer.id) + by;
  if (place >= grid.items.length) await grid.extend();
  const item = grid.items[place];
  if (item && viewer.id !== null) go({ photo: String(item.photo.id) }, { replace: true });
}

function searchLike(file) {
  if (!file?.type.startsWith("image/")) return;
  upload = file;
  go({ like: "", box: "", photo: "" });
}

const whileTyping = debounce(() => go({ q: $("q").value }, { replace: true }), WHILE_TYPING);
$("q").addEventListener("input", whileTyping);
$("search").addEventListener("submit", (event) => {
  event.preventDefault();
  whileTyping.cancel();
  go({ q: $("q").value });
});
$("upload").addEventListener("change", (event) => {
  searchLike(event.target.files[0]);
  event.target.value = "";
});
$("drop-example").addEventListener("click", () => {
  upload = null;
  go({ like: "", box: "" });
  $("q").focus();
});
$("fresh").addEventListener("click", () => {
  shown = null;
  show();
});
$("home").addEventListener("click", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  upload = null;
  $("q").value = "";
  go(read(""));
});
addEventListener("popstate", () => {
  state = read();
  $("q").value = state.q;
  show();
});
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.closest("input, select, dialog")) return;
  event.preventDefault();
  $("q").select();
});
addEventListener("paste", (event) => searchLike([...event.clipboardData.files][0]));
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  event.preventDefault();
  searchLike(event.dataTransfer.files[0]);
});

$("q").value = state.q;
show();
library.follow();
