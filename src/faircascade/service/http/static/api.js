// Asking the service, with a key if it needs one.

const KEY = "faircascade-key";
const PATIENCE = 10_000; // milliseconds

/** The service wants a key, or another one. */
export class NeedsKey extends Error {}
/** The service cannot be reached, or (if it answered) cannot do it now; the message says why. */
export class Trouble extends Error {
  constructor(message, answered) {
    super(message);
    this.answered = answered;
  }
}

export const keepKey = (key) => sessionStorage.setItem(KEY, key);
export const forgetKey = () => sessionStorage.removeItem(KEY);

export const hasKey = () => sessionStorage.getItem(KEY) !== null;

export const get = (path, signal) => send(path, {}, signal);

/** Change something; the answer is what it is now. */
export const put = (path, body) => send(path, {
  method: "PUT", body: JSON.stringify(body), headers: { "Content-Type": "application/json" },
});

async function send(path, request, signal) {
  const key = sessionStorage.getItem(KEY);
  const waits = [AbortSignal.timeout(PATIENCE), ...(signal ? [signal] : [])];
  let answer;
  let body;
  try {
    const headers = { Accept: "application/json", ...request.headers };
    if (key) headers.Authorization = `Bearer ${key}`;
    answer = await fetch(path, { ...request, headers, cache: "no-store", signal: AbortSignal.any(waits) });
    body = await answer.json().catch(() => null); // a proxy in between answers in HTML
  } catch (error) {
    const late = error.name === "TimeoutError";
    throw new Trouble(late ? "It did not answer within 10 seconds." : "", false);
  }
  if (answer.status === 401 || answer.status === 403) throw new NeedsKey();
  if (!answer.ok || body === null) {
    throw new Trouble(`It answered ${answer.status}${body?.detail ? `: ${body.detail}` : ""}.`, true);
  }
  return body;
}
