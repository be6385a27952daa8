// How things are said.

export const percent = (score) => (score < 0.005 ? "< 1 %" : `${Math.round(100 * score)} %`);

export function verdict(result) {
  return result.word ? `${result.word}, ${percent(result.score)}` : `similarity ${result.score.toFixed(2)}`;
}

// What the server notes, as a sentence.
export const asSentence = (note) => `${note.charAt(0).toUpperCase()}${note.slice(1)}.`.replace(/'([^']*)'/g, "“$1”").replace("?.", "?");

export const plural = (count, thing) => `${count.toLocaleString("en")} ${thing}${count === 1 ? "" : "s"}`;

export function day(date) {
  const [year, month, number] = date.slice(0, 10).split("-").map(Number);
  if (!year || year < 1000) return date.slice(0, 10);
  return new Date(year, month - 1, number).toLocaleDateString("en-GB", { day: "numeric", month: "long", year: "numeric" });
}

export function bytes(size) {
  if (size < 1e6) return `${Math.max(1, Math.round(size / 1e3))} kB`;
  return `${(size / 1e6).toFixed(1)} MB`;
}
