// One photo, large: why it was found, what it shows in a sentence, and where to go from it.

import * as api from "./api.js";
import { $, element } from "./dom.js";
import { clearHeat, drawHeat } from "./heat.js";
import { Region } from "./region.js";
import { asSentence, bytes, day, percent, verdict } from "./words.js";

// A phone has neither a pointer that can rest on a word nor number keys.
const HOW_TO_CHOOSE = matchMedia("(hover: none)").matches ? "Tap a word" : "Point at a word, or press its number,";

export class Viewer {
  constructor({ onClose, onStep, onSearch }) {
    Object.assign(this, { onClose, onStep, onSearch, id: null, asked: new AbortController() });
    this.dialog = $("viewer");
    this.region = new Region({ figure: $("figure"), box: $("box"), onChoose: (box) => this.choose(box, "the marked region") });
    this.dialog.addEventListener("close", () => this.id !== null && this.onClose(this.leave()));
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
    this.dialog.addEventListener("keydown", (event) => this.press(event));
    $("close").addEventListener("click", () => this.dialog.close());
    $("previous").addEventListener("click", () => this.onStep(-1));
    $("next").addEventListener("click", () => this.onStep(1));
    $("similar").addEventListener("click", () => this.onSearch({ q: "", like: String(this.id), box: "" }));
    $("elsewhere").addEventListener("click", () =>
      this.onSearch({ q: "", like: String(this.id), box: this.region.box.map((edge) => edge.toFixed(4)).join(",") }));
    $("ask").addEventListener("submit", (event) => {
      event.preventDefault();
      if ($("sentence").value.trim()) this.explain($("sentence").value);
    });
    new ResizeObserver(() => this.word && drawHeat($("heat"), this.word.heat)).observe($("figure"));
  }

  // Show a photo. `item` is what the grid knows of it, `sentence` what was searched for.
  async open(id, item, sentence) {
    this.asked.abort();
    this.asked = new AbortController();
    const { signal } = this.asked;
    this.id = id;
    this.reset();
    if (!this.dialog.open) this.dialog.showModal();
    if (item) this.describe(item.photo);
    $("verdict").textContent = item?.score === undefined ? "" : verdict(item);
    try {
      const photo = await api.photo(id, signal);
      this.describe(photo);
      this.show(photo);
      this.tag(photo.tags);
    } catch (error) {
      if (error.name === "AbortError") return;
      $("photo-name").textContent = error.status === 404 ? "This photo is not in the library" : error.message;
      return;
    }
    if (sentence) await this.explain(sentence, item?.word ? verdict(item) : ""); // search has judged it
    if (!signal.aborted) await this.caption(signal);
  }

  reset() {
    this.region.set(null);
    this.rest();
    this.held = null;
    $("picture").removeAttribute("src");
    $("figure").classList.remove("broken");
    $("figure").setAttribute("aria-busy", "true");
    for (const id of ["words", "caption-list", "tag-list", "facts"]) $(id).replaceChildren();
    for (const id of ["captions", "tags"]) $(id).hidden = true;
    for (const id of ["photo-name", "verdict", "word-note"]) $(id).textContent = "";
    $("sentence").value = "";
    this.title("Ask about this photo", "A sentence, such as: a dog in the snow");
    this.choose(null);
  }

  // There is a reason to show once a sentence was asked about.
  title(text, example) {
    $("why-title").textContent = text;
    $("sentence").placeholder = example;
  }

  leave() {
    const left = this.id;
    this.id = null;
    this.asked.abort();
    $("picture").removeAttribute("src");
    return left;
  }

  close() {
    this.leave();
    if (this.dialog.open) this.dialog.close();
  }

  describe(photo) {
    $("photo-name").textContent = photo.name;
    const figure = $("figure");
    figure.style.setProperty("--ratio", photo.width / photo.height);
    figure.style.setProperty("--wide", `${photo.width}px`);
    const facts = [
      [photo.taken ? "Taken" : "File dated", day(photo.date)], ["Camera", photo.camera],
      ["Size", `${photo.width} × ${photo.height}${photo.size ? `, ${bytes(photo.size)}` : ""}`], ["File", photo.path],
    ];
    $("facts").replaceChildren(
      ...facts.filter(([, value]) => value).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]),
    );
  }

  show(photo) {
    const image = $("picture");
    image.alt = photo.tags.length ? `Photo, looks like ${photo.tags.join(", ")}` : "Photo";
    image.onload = () => $("figure").setAttribute("aria-busy", "false");
    image.onerror = () => {
      image.onload();
      $("figure").classList.add("broken");
      image.alt = "The file has changed or is gone since it was indexed.";
    };
    image.src = photo.picture;
  }

  tag(tags) {
    $("tags").hidden = !tags.length;
    $("tag-list").replaceChildren(
      ...tags.map((tag) => element("button", { type: "button", className: "chip", onclick: () => this.onSearch({ q: "", like: "", box: "", tag }) }, tag)),
    );
  }

  async caption(signal) {
    try {
      const { captions } = await api.captions(this.id, signal);
      $("captions").hidden = !captions.length;
      $("caption-list").replaceChildren(
        ...captions.map(({ text, unsure }) =>
          element("li", {}, element("button", { type: "button", className: "sentence", title: "See the region that each word refers to", onclick: () => this.explain(text) }, text),
            unsure ? element("span", { className: "doubt" }, " unsure") : null)),
      );
      if (captions.length && !$("figure").classList.contains("broken")) $("picture").alt = `${captions[0].unsure ? "Perhaps " : ""}${captions[0].text}`;
    } catch (error) {
      if (error.name !== "AbortError") $("captions").hidden = true;
    }
  }

  // Show the reason for a sentence; `known` is its verdict, where there is one before the server has looked.
  async explain(sentence, known = "") {
    const { signal } = this.asked;
    this.held = null;
    this.rest();
    this.title("Why", "Ask about another sentence");
    $("words").replaceChildren(...sentence.split(/\s+/).map((text) => element("span", { className: "still" }, `${text} `)));
    $("verdict").textContent = known;
    $("word-note").textContent = "Looking …";
    try {
      const { words, notes, ...judged } = await api.explain(this.id, sentence, signal);
      $("verdict").textContent = judged.score === null ? "" : verdict(judged);
      $("words").replaceChildren(...words.map((word) => this.chip(word)));
      const shown = words.some((word) => word.heat.length);
      const hint = shown ? `${HOW_TO_CHOOSE} to see what it refers to.` : "None of these words can be shown.";
      this.note = [...notes.map(asSentence), hint].join(" ");
      $("word-note").textContent = this.note;
    } catch (error) {
      if (error.name === "AbortError") return;
      $("words").replaceChildren();
      $("word-note").textContent = error.message;
    }
  }

  chip(word) {
    if (!word.content) return element("span", { className: "still" }, `${word.text} `);
    if (!word.heat.length) return element("span", { className: "still unknown", title: "The model has not learned this word" }, `${word.text} `);
    const button = element(
      "button",
      {
        type: "button", className: "chip word", "aria-pressed": "false",
        onmouseenter: () => this.light(word), onmouseleave: () => this.rest(), onfocus: () => this.light(word), onblur: () => this.rest(),
        onclick: () => this.hold(word, button),
      },
      word.text,
    );
    button.style.setProperty("--strength", word.probability ?? 0.6);
    return button;
  }

  light(word) {
    this.word = word;
    drawHeat($("heat"), word.heat);
    this.region.draw(word.box);
    const sure = word.said === null ? "" : `${word.said}, ${percent(word.probability)}; `;
    $("word-note").textContent = `“${word.text}”: ${sure}most of all ${word.place}.`;
  }

  // Back to what was chosen, if anything was.
  rest() {
    if (this.held) {
      this.light(this.held);
      return;
    }
    this.word = null;
    clearHeat($("heat"));
    this.region.draw(this.region.box);
    $("word-note").textContent = $("words").querySelector(".word") ? this.note ?? "" : "";
  }

  hold(word, button) {
    const again = this.held === word;
    for (const each of $("words").querySelectorAll("[aria-pressed]")) each.setAttribute("aria-pressed", "false");
    this.held = again ? null : word;
    button.setAttribute("aria-pressed", String(!again));
    this.region.set(again ? null : word.box);
    this.choose(this.region.box, `the region of “${word.text}”`);
    this.light(word);
  }

  choose(box, name) {
    $("elsewhere").disabled = !box;
    $("region-note").textContent = box
      ? `Photos that look like ${name}.` : "Drag over the photo, or choose a word, to mark a region.";
  }

  press(event) {
    if (event.target.matches("input, select") || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "ArrowLeft") this.onStep(-1);
    else if (event.key === "ArrowRight") this.onStep(1);
    else if (/^[1-9]$/.test(event.key)) $("words").querySelectorAll(".word")[event.key - 1]?.click();
    else return;
    event.preventDefault();
  }
}
