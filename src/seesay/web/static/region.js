// The box on a photo: drawn by dragging, or given by a word.

const SMALLEST = 0.03;

export class Region {
  constructor({ figure, box, onChoose }) {
    this.figure = figure;
    this.mark = box;
    this.onChoose = onChoose;
    this.box = null;
    figure.addEventListener("pointerdown", (event) => this.begin(event));
    figure.addEventListener("pointermove", (event) => this.drag(event));
    figure.addEventListener("pointerup", (event) => this.end(event));
    figure.addEventListener("pointercancel", () => this.set(null));
  }

  at(event) {
    const { left, top, width, height } = this.figure.getBoundingClientRect();
    const inside = (value) => Math.min(1, Math.max(0, value));
    return [inside((event.clientX - left) / width), inside((event.clientY - top) / height)];
  }

  begin(event) {
    if (event.button !== 0) return;
    this.from = this.at(event);
    this.figure.setPointerCapture(event.pointerId);
  }

  drag(event) {
    if (this.from) this.draw(between(this.from, this.at(event)));
  }

  end(event) {
    if (!this.from) return;
    const box = between(this.from, this.at(event));
    this.from = null;
    const large = box[2] - box[0] > SMALLEST && box[3] - box[1] > SMALLEST;
    this.set(large ? box : null);
    this.onChoose(this.box);
  }

  set(box) {
    this.from = null;
    this.box = box;
    this.draw(box);
  }

  draw(box) {
    this.mark.hidden = !box;
    if (box) lay(this.mark, box);
  }
}

// Put an element over the part of a picture that a box says, in fractions of it.
export function lay(mark, box) {
  const [left, top, right, bottom] = box.map((edge) => 100 * edge);
  Object.assign(mark.style, { left: `${left}%`, top: `${top}%`, width: `${right - left}%`, height: `${bottom - top}%` });
  return mark;
}

export function between([x, y], [otherX, otherY]) {
  return [Math.min(x, otherX), Math.min(y, otherY), Math.max(x, otherX), Math.max(y, otherY)];
}
