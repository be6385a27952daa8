// The page: one question at a time, its photos in a grid, one of them open.

import * as api from "./api.js";
import { $, debounce, element } from "./dom.js";
import { Filters } from "./filters.js";
import { Grid } from "./grid.js";
import { LibraryView, dress } from "./library.js";
import { address, asksSomething, changed, question, read } from "./state.js";
import { Viewer } from "./viewer.js";
import { asSentence, plural } from "./words.js";

const WHILE_TYPING = 250;

dress();
let state = read();
let shown = null; // the question whose answer the grid shows
let upload = null; // a photo of the visitor's own, which no address can hold

const grid = new Grid({
  href: (photo) => address({ ...state, photo }),
  onOpen: (photo) => go({ photo: String(photo) }, { opened: true }),
  isByScore: () => state.sort === "score",
});
const filters = new Filters({ onChange: (values) => go(values, { replace: true }) });
const viewer = new Viewer({
  onClose: (id) => {
    // Going back closes a photo that was opened here; one whose address was typed has nothing to go back to.
    if (state.photo && history.state?.opened) history.back();
    else if (state.photo) go({ photo: "" }, { replace: true });
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

function go(changes, { replace = false, opened = false } = {}) {
  const next = changed(state, changes);
  const kept = replace && next.photo ? history.state : opened ? { opened } : null;
  if (address(next) !== address(state)) history[replace ? "replaceState" : "pushState"](kept, "", address(next));
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
    const { q, exact, like, box, sort, minus, ...where } = parameters;
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

const results = ({ results: items, next, understood }) => ({ items, next, understood });

function describe() {
  const similar = Boolean(upload || state.like);
  const words = state.q.trim() ? ` and “${state.q.trim()}”` : "";
  $("title").textContent = upload ? `Like your photo${words}`
    : state.box ? `Like this region${words}`
    : state.like ? `Like this photo${words}`
    : state.q.trim() ? `“${state.q.trim()}”` : "Latest photos";
  document.title = state.q.trim() ? `${state.q.trim()} · seesay` : "seesay";
  $("note").replaceChildren();
  $("examples").hidden = asksSomething(state) || Boolean(upload);
  $("drop-example").hidden = $("example").hidden = !similar;
  if (!similar) return;
  const source = upload ? URL.createObjectURL(upload) : `/api/photos/${encodeURIComponent(state.like)}/thumbnail`;
  if (upload) $("example").addEventListener("load", () => URL.revokeObjectURL(source), { once: true });
  $("example").src = source;
  $("example").alt = upload ? "Your photo" : "The photo that others are compared with";
}

// What was made of the words that were typed, and a way to have them taken as they stand.
function tellUnderstood({ notes = [], without = [], dates = null, replaced = {} }) {
  const said = notes.map(asSentence).join(" ");
  const changed = without.length || dates || Object.keys(replaced).length;
  const plain = element("button", { type: "button", className: "plain", onclick: () => go({ exact: "true" }) }, "Search for it as typed");
  $("note").replaceChildren(said, ...(changed ? [" ", plain] : []));
}

// Queries that this library can answer, for somebody who does not know what to ask.
async function offerExamples() {
  const found = await api.examples().catch(() => []);
  const chip = (q) => element("button", { type: "button", className: "chip", onclick: () => go({ q }) }, q);
  $("examples").replaceChildren(...(found.length ? ["Try ", ...found.map(chip)] : []));
}

function announce({ items, next, understood = {} }) {
  tellUnderstood(understood);
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

// A query is one step to go back by, however often one pauses while typing it.
let typing = false;
const search = () => {
  go({ q: $("q").value }, { replace: typing });
  typing = true;
};
const whileTyping = debounce(search, WHILE_TYPING);
$("q").addEventListener("input", whileTyping);
$("q").addEventListener("blur", () => (typing = false));
$("search").addEventListener("submit", (event) => {
  event.preventDefault();
  whileTyping.cancel();
  search();
  typing = false;
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
  typing = false;
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
if (!state.photo && matchMedia("(hover: hover)").matches) $("q").focus({ preventScroll: true }); // no keyboard pops up
show();
offerExamples();
library.follow();
