"use strict";
// Alignments as `alignments.js` gives them. Text is only ever set as text: a caption cannot become markup.
(() => {
  const COLOURS = ["#e66101", "#0072b2", "#00966e", "#cc3c78", "#825ac8", "#a88400", "#2f93c4", "#964b28"];
  const PER_PAGE = 24;
  const FAINT = 0.25; // of the best phrase: below it a phrase refers to nothing in particular
  const everything = window.ALIGNMENTS;
  const byId = (id) => document.getElementById(id);
  const make = (name, className, text) => {
    const element = document.createElement(name);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const percent = (part) => `${(100 * part).toFixed(3)}%`;
  let shown = [];
  let page = 0;

  function light(card, part, button, colour) {
    const figure = card.querySelector("figure");
    const region = figure.querySelector(".region");
    const [left, top, right, bottom] = part.box;
    const [wide, high] = [right - left, bottom - top];
    Object.assign(region.style, { left: percent(left), top: percent(top), width: percent(wide), height: percent(high) });
    region.style.setProperty("--colour", colour);
    const inner = region.querySelector("img"); // the same photo, undimmed, showing through the region
    const whole = figure.querySelector("img");
    Object.assign(inner.style, {
      width: `${whole.clientWidth}px`, height: `${whole.clientHeight}px`,
      left: `${-left * whole.clientWidth - 3}px`, top: `${-top * whole.clientHeight - 3}px`,
    });
    figure.classList.add("lit");
    button.classList.add("lit");
    const edges = [left, top, right, bottom].map((edge) => Math.round(100 * edge));
    byId("said").textContent =
      `${button.textContent}: from ${edges[0]} to ${edges[2]} percent across, ${edges[1]} to ${edges[3]} percent down`;
  }

  function clear(card) {
    card.querySelector("figure").classList.remove("lit");
    for (const button of card.querySelectorAll(".part.lit")) button.classList.remove("lit");
  }

  function makeSentence(card, sentence) {
    const row = make("li", sentence.own ? "own" : "");
    const score = make("span", "score", sentence.score.toFixed(2));
    score.title = sentence.own ? "written for this photo" : "written for another photo";
    row.append(score);
    const words = make("span", "words");
    words.setAttribute("role", "group");
    words.setAttribute("aria-label", sentence.words.join(" "));
    const best = Math.max(...sentence.parts.map((part) => part.gain), 0);
    let place = 0;
    sentence.parts.forEach((part, number) => {
      const isFaint = part.gain < FAINT * best;
      const colour = isFaint ? "#7a828c" : COLOURS[place++ % COLOURS.length];
      const button = make("button", isFaint ? "part faint" : "part", sentence.words.slice(part.first, part.last).join(" "));
      button.type = "button";
      button.tabIndex = number === 0 ? 0 : -1; // one stop a sentence, the arrows do the rest
      button.style.setProperty("--colour", colour);
      const show = () => { clear(card); light(card, part, button, colour); };
      button.addEventListener("mouseenter", show);
      button.addEventListener("focus", show);
      button.addEventListener("click", show);
      button.addEventListener("mouseleave", () => { if (document.activeElement !== button) clear(card); });
      button.addEventListener("blur", () => clear(card));
      words.append(button, " ");
    });
    words.addEventListener("keydown", (event) => {
      const buttons = [...words.querySelectorAll(".part")];
      const now = buttons.indexOf(document.activeElement);
      const next = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: buttons.length - 1 }[event.key];
      if (next === undefined || !buttons[next]) return;
      event.preventDefault();
      buttons[now].tabIndex = -1;
      buttons[next].tabIndex = 0;
      buttons[next].focus();
    });
    row.append(words);
    return row;
  }

  function makeCard(picture) {
    const card = make("article");
    card.setAttribute("aria-label", picture.name);
    const figure = make("figure");
    const frame = make("div");
    const image = make("img");
    Object.assign(image, { src: picture.picture, alt: picture.name, loading: "lazy", width: picture.size[0], height: picture.size[1] });
    const region = make("div", "region");
    const inner = make("img");
    Object.assign(inner, { src: picture.picture, alt: "" });
    region.append(inner);
    frame.append(image, region);
    figure.append(frame);
    const list = make("ol");
    card.append(figure, list);
    for (const sentence of picture.sentences) list.append(makeSentence(card, sentence));
    return card;
  }

  function draw() {
    const n_pages = Math.max(1, Math.ceil(shown.length / PER_PAGE));
    page = Math.min(Math.max(page, 0), n_pages - 1);
    const pictures = shown.slice(page * PER_PAGE, (page + 1) * PER_PAGE);
    const cards = pictures.length ? pictures.map(makeCard) : [make("p", "none", "No sentence here has these words.")];
    byId("pictures").replaceChildren(...cards);
    byId("page").textContent = `page ${page + 1} of ${n_pages}, ${shown.length.toLocaleString("en")} photos`;
    byId("previous").disabled = page === 0;
    byId("next").disabled = page === n_pages - 1;
  }

  function choose() {
    const wanted = byId("words").value.toLowerCase().split(/\s+/).filter(Boolean);
    const onlyWrong = byId("wrong").checked;
    shown = everything.pictures.filter((picture) => {
      if (onlyWrong && picture.sentences.length && picture.sentences[0].own) return false;
      return picture.sentences.some((sentence) => wanted.every((word) => sentence.words.includes(word)));
    });
    page = 0;
    draw();
  }

  function turn(step) {
    page += step;
    draw();
    window.scrollTo(0, 0);
    byId("pictures").focus();
  }

  document.title = everything.title;
  byId("title").textContent = everything.title;
  byId("about").textContent =
    "Each photo with the sentences of the whole set that fit it best. ✓ marks those that were written for it.";
  byId("words").addEventListener("input", choose);
  byId("wrong").addEventListener("change", choose);
  byId("search").addEventListener("submit", (event) => event.preventDefault());
  byId("previous").addEventListener("click", () => turn(-1));
  byId("next").addEventListener("click", () => turn(1));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && document.activeElement) document.activeElement.blur();
  });
  choose();
})();
