// The grid of photos: rows of equal height, more of them as one scrolls.

import { $, element } from "./dom.js";
import { lay } from "./region.js";
import { day, percent, plural, verdict } from "./words.js";

export class Grid {
  constructor({ href, onOpen, isByScore }) {
    Object.assign(this, { href, onOpen, isByScore });
    this.items = [];
    this.next = null;
    this.load = null;
    this.asked = new AbortController();
    $("more").addEventListener("click", () => this.extend());
    this.near = new IntersectionObserver(([seen]) => seen.isIntersecting && this.extend(), { rootMargin: "600px" });
  }

  // Show what `load(offset, signal)` finds; a question that was asked before is not waited for.
  async show(load, { keep = false } = {}) {
    this.asked.abort();
    const asked = new AbortController();
    this.asked = asked;
    this.load = load;
    this.busy = false;
    this.next = null;
    $("more").hidden = true;
    $("photos").setAttribute("aria-busy", "true");
    if (!keep || !this.items.length) this.waitVisibly();
    try {
      const found = await load(0, asked.signal);
      this.items = [];
      this.divided = false;
      $("grid").replaceChildren();
      this.clearMessage();
      this.take(found);
      return found;
    } finally {
      if (!asked.signal.aborted) $("photos").removeAttribute("aria-busy");
    }
  }

  async extend() {
    if (this.next === null || this.busy) return;
    this.busy = true;
    const { signal } = this.asked;
    try {
      this.take(await this.load(this.next, signal));
      $("announce").textContent = `${plural(this.items.length, "photo")} so far`;
    } catch (error) {
      if (error.name !== "AbortError") this.next = null; // the button would ask again and again
    } finally {
      if (!signal.aborted) this.busy = false;
      this.watch();
    }
  }

  take({ items, next }) {
    const shown = new Set(this.items.map((item) => item.photo.id)); // photos that came in between move the pages
    const fresh = items.filter((item) => !shown.has(item.photo.id));
    for (const item of fresh) {
      // Best first, what is likely ends somewhere, and a person wants to know where.
      const unlikely = item.word === "unlikely";
      const nothing = !this.items.length && item.word && item.word !== "likely";
      if (this.isByScore() && (nothing || (unlikely && !this.divided))) {
        const said = nothing ? "Nothing is likely to fit. These come nearest:" : "Less likely";
        // The row above ends here, and is not to be stretched over its whole width.
        $("grid").append(element("li", { className: "filler", "aria-hidden": "true" }), element("li", { className: "divider" }, said));
      }
      this.divided ||= unlikely;
      this.items.push(item);
      $("grid").append(this.tile(item));
    }
    this.next = next;
    if (!this.busy) this.watch();
  }

  // Look out for the end of the page. Asked anew, the observer tells of an end that is in sight and has never left it.
  watch() {
    $("more").hidden = this.next === null;
    this.near.unobserve($("more"));
    if (this.next !== null) this.near.observe($("more"));
  }

  tile(item) {
    const { photo, tags = [], copies = [], word } = item;
    const image = element("img", {
      src: photo.thumbnail, alt: tags.length ? tags.join(", ") : "Photo", loading: "lazy", decoding: "async",
      width: photo.width, height: photo.height,
    });
    image.addEventListener("error", () => link.classList.add("broken"), { once: true });
    const said = item.score === undefined ? day(photo.date) : verdict(item);
    const link = element(
      "a",
      {
        className: "tile", href: this.href(photo.id), "aria-label": [photo.name, said, ...tags].join(", "),
        onclick: (event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey) return;
          event.preventDefault();
          this.onOpen(photo.id);
        },
      },
      image,
      item.score === undefined ? null : element("span", { className: `score ${word ?? "plain"}` }, word ? percent(item.score) : item.score.toFixed(2)),
      item.box ? lay(element("span", { className: "box", "aria-hidden": "true" }), item.box) : null,
      copies.length ? element("span", { className: "copies", title: `in the library ${copies.length + 1} times` }, `+${copies.length}`) : null,
    );
    const place = element("li", {}, link);
    place.style.setProperty("--ratio", Math.min(3, Math.max(0.4, photo.width / photo.height)));
    place.dataset.photo = photo.id;
    return place;
  }

  focus(id) {
    $("grid").querySelector(`li[data-photo="${id}"] a`)?.focus();
  }

  waitVisibly() {
    this.clearMessage();
    this.items = [];
    const ratios = [1.5, 0.75, 1.33, 1.5, 1, 1.33, 0.75, 1.5, 1.33, 1];
    $("grid").replaceChildren(
      ...ratios.map((ratio) => {
        const place = element("li", { className: "waiting", "aria-hidden": "true" });
        place.style.setProperty("--ratio", ratio);
        return place;
      }),
    );
  }

  say(title, text, ...actions) {
    this.items = [];
    this.next = null;
    $("more").hidden = true;
    $("grid").replaceChildren();
    $("message").replaceChildren(
      element("h2", {}, title), ...[text].flat().filter(Boolean).map((each) => element("p", {}, each)), ...actions.filter(Boolean),
    );
    $("message").hidden = false;
  }

  clearMessage() {
    $("message").hidden = true;
  }
}
