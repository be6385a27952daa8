// What the page shows stands in its address: going back, reloading and sending the address all work.

export const FILTERS = ["after", "before", "in", "camera", "tag", "minus", "look"];
const KEYS = ["q", "exact", ...FILTERS, "sort", "like", "box", "photo"];

export function read(query = location.search) {
  const given = new URLSearchParams(query);
  return Object.fromEntries(KEYS.map((key) => [key, given.get(key) ?? (key === "sort" ? "score" : "")]));
}

export function address(state) {
  const query = new URLSearchParams(KEYS.filter((key) => state[key]).map((key) => [key, state[key]]));
  if (query.get("sort") === "score") query.delete("sort");
  return query.size ? `/?${query}` : "/";
}

// The state with some of it changed. Another question closes the photo that is open.
export function changed(state, changes) {
  const asks = Object.keys(changes).some((key) => key !== "photo" && changes[key] !== state[key]);
  const other = "q" in changes && changes.q !== state.q; // taken as it stands was the text before
  return { ...state, ...(asks ? { photo: "" } : {}), ...(other ? { exact: "" } : {}), ...changes };
}

// What the server is asked: everything but the photo that is open.
export function question(state) {
  const { photo, ...rest } = state;
  return rest;
}

export const asksSomething = (state) => Boolean(state.q.trim() || state.like);
