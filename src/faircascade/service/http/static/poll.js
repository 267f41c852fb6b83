// Doing something again and again, politely.

/**
 * Do some work now and `every` so many milliseconds after it ended; return how to do it at once.
 *
 * `work(signal)` says how it went: "done", "failed" (then the pauses double up to `longest`) or
 * "held" (then it waits to be called). Two turns never overlap: one that is called for aborts the
 * one under way. There are none while nobody looks at the page.
 */
export function poll(work, { every, longest }) {
  let timer;
  let running = null;
  let held = false;
  let pause = every;

  async function turn() {
    clearTimeout(timer);
    running?.abort();
    const mine = new AbortController();
    running = mine;
    const outcome = await work(mine.signal);
    if (running !== mine) return;
    mine.abort(); // requests that are left when one of them failed
    running = null;
    held = outcome === "held";
    pause = outcome === "failed" ? Math.min(2 * pause, longest) : every;
    if (!held && !document.hidden) timer = setTimeout(turn, pause);
  }

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) clearTimeout(timer);
    else if (!held && !running) turn();
  });
  if (!document.hidden) turn();
  return turn;
}
