// The filters, and the chips that show which are in use.

import { $, debounce, element } from "./dom.js";
import { FILTERS } from "./state.js";

const NAMES = { after: "from", before: "before", in: "in", camera: "camera", tag: "tag", minus: "but not", look: "look at" };

export class Filters {
  constructor({ onChange }) {
    this.onChange = onChange;
    this.panel = $("filters");
    this.button = $("show-filters");
    this.button.addEventListener("click", () => this.toggle());
    const tell = () => this.onChange(this.values());
    this.later = debounce(tell, 400);
    this.panel.addEventListener("input", this.later);
    this.panel.addEventListener("change", () => {
      this.later.cancel();
      tell();
    });
    $("clear-filters").addEventListener("click", () => {
      for (const field of this.fields()) field.value = field.name === "sort" ? "score" : "";
      tell();
      this.fields()[0].focus();
    });
  }

  fields() {
    return [...this.panel.querySelectorAll("input, select")];
  }

  values() {
    return Object.fromEntries(this.fields().map((field) => [field.name, field.value.trim()]));
  }

  toggle(open = this.panel.hidden) {
    this.panel.hidden = !open;
    this.button.setAttribute("aria-expanded", String(open));
    if (open) this.fields()[0].focus();
  }

  show(state) {
    for (const field of this.fields()) {
      const value = state[field.name] || (field.name === "sort" ? "score" : "");
      if (field !== document.activeElement && field.value !== value) field.value = value;
    }
    const used = FILTERS.filter((name) => state[name]);
    this.button.classList.toggle("used", used.length > 0);
    const chips = JSON.stringify(used.map((name) => [name, state[name]]));
    if (chips === this.chips) return; // a chip that is replaced under the mouse would not be clicked
    this.chips = chips;
    $("active").replaceChildren(
      ...used.map((name) =>
        element(
          "li", {},
          element(
            "button",
            {
              type: "button", className: "chip", "aria-label": `Remove the filter ${NAMES[name]} ${state[name]}`,
              onclick: () => this.onChange({ [name]: "" }),
            },
            `${NAMES[name]} ${state[name]}`, element("span", { "aria-hidden": "true" }, " ×"),
          ),
        ),
      ),
    );
  }
}
