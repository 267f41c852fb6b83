// Asking the service, with a key if it needs one.

const KEY = "faircascade-key";
const PATIENCE = 10_000; // milliseconds
const PATIENCE_FOR_FILES = 600_000;

/** The service wants a key, or another one. */
export class NeedsKey extends Error {}
/** The key may not do this; the message says why. */
export class NotAllowed extends Error {}
/** The service cannot be reached, or (if it answered) cannot do it now; the message says why. */
export class Trouble extends Error {
  constructor(message, answered, status = null) {
    super(message);
    this.answered = answered;
    this.status = status;
  }
}

export const keepKey = (key) => sessionStorage.setItem(KEY, key);
export const forgetKey = () => sessionStorage.removeItem(KEY);

export const hasKey = () => sessionStorage.getItem(KEY) !== null;

/** Return a JSON document. */
export const get = (path, signal) => send(path, {}, signal);

/** Change something; the answer is what it is now. */
export const put = (path, body) => send(path, {
  method: "PUT", body: JSON.stringify(body), headers: { "Content-Type": "application/json" },
});

async function send(path, request, signal) {
  const [answer, body] = await ask(path, request, signal, PATIENCE, (found) => found.json());
  if (!answer.ok || body === null) throw trouble(answer, body);
  return body;
}

/** Return a file as it is, however long it takes. */
export async function download(path) {
  const [answer, body] = await ask(path, {}, undefined, PATIENCE_FOR_FILES, (found) => (
    found.ok ? found.blob() : found.json()
  ));
  if (!answer.ok || body === null) throw trouble(answer, body);
  return body;
}

const trouble = ({ status }, body) => (
  new Trouble(`It answered ${status}${body?.detail ? `: ${body.detail}` : ""}.`, true, status)
);

async function ask(path, request, signal, patience, read) {
  const key = sessionStorage.getItem(KEY);
  const waits = [AbortSignal.timeout(patience), ...(signal ? [signal] : [])];
  let answer;
  let body;
  try {
    const headers = { Accept: "application/json", ...request.headers };
    if (key) headers.Authorization = `Bearer ${key}`;
    answer = await fetch(path, { ...request, headers, cache: "no-store", signal: AbortSignal.any(waits) });
    body = await read(answer).catch(() => null); // a proxy in between answers in HTML
  } catch (error) {
    const late = error.name === "TimeoutError";
    throw new Trouble(late ? `It did not answer within ${patience / 1000} seconds.` : "", false);
  }
  if (answer.status === 401) throw new NeedsKey();
  if (answer.status === 403) throw new NotAllowed(body?.detail ?? "");
  return [answer, body];
}
