// The server's verbs. An answer that is no answer becomes an ApiError that says what happened and what to try.

export class ApiError extends Error {
  constructor(status, { what, allowed, hint }) {
    super(what);
    Object.assign(this, { status, allowed, hint });
  }
}

async function ask(path, { parameters = {}, ...options } = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const each of [value].flat()) if (each !== "" && each !== null && each !== undefined) query.append(name, each);
  }
  let response;
  try {
    response = await fetch(`/api${path}?${query}`, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { what: "The server does not answer.", hint: "Is seesay serve still running?" });
  }
  if (response.ok) return response.json();
  throw new ApiError(response.status, await response.json().catch(() => ({ what: response.statusText })));
}

export const search = (parameters, signal) => ask("/search", { parameters, signal });
export const searchRegions = ({ like, box, minus, ...parameters }, signal) => ask("/regions", { parameters, signal });
export const searchByPhoto = (photo, parameters, signal) =>
  ask("/search", { method: "POST", body: photo, parameters, signal });
export const latest = (parameters, signal) => ask("/photos", { parameters, signal });
export const photo = (id, signal) => ask(`/photos/${id}`, { signal });
export const captions = (id, signal) => ask(`/photos/${id}/captions`, { parameters: { n: 3 }, signal });
export const explain = (id, q, signal) => ask(`/photos/${id}/explain`, { parameters: { q }, signal });
export const examples = () => ask("/examples");
export const status = () => ask("/status");
export const failures = () => ask("/failures");
export const index = () => ask("/index", { method: "POST" });
