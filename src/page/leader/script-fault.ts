// Finds out why a browser has refused the script of a worker. The browser tells the page only that it has.
//
// The page loads the script once more and looks at the answer.
//
// Invariant: each request ends within LOOK_MS, and the result names only what was seen. It is not asserted, because it is
// about time.

/** The page that loads the script once more. */
export interface LookingPage {
  readonly fetch: (address: string, init: RequestInit) => Promise<Response>;
  /** Returns a signal that aborts a request after this time. */
  readonly timeout: (delayMs: number) => AbortSignal;
  readonly address: string;
  /** True if the page certainly has a Cross-Origin-Embedder-Policy; if false, the page's own answer is read for one. */
  readonly isIsolated: boolean;
}

const LOOK_MS = 1000;

/** Returns why the browser has refused the script; null if no reason was found. */
export async function scriptFault(address: string, page: LookingPage): Promise<string | null> {
  if (!/^https?:/.test(address)) return null;
  const isOfPage = new URL(address).origin === new URL(page.address).origin;
  const script = await answerOf(address, page);
  if (script === null) {
    const isThere = !isOfPage && (await answerOf(address, page, 'no-cors')) !== null;
    return isThere
      ? `${address} is of another origin, whose server must let this page load it: Access-Control-Allow-Origin`
      : null;
  }
  if (!script.ok) return `${address} answers ${script.status}`;
  const type = script.headers.get('content-type') ?? 'of no type';
  if (!/java|ecma/i.test(type)) return `${address} is ${type}, not JavaScript`;
  if (!isOfPage) {
    const { origin } = new URL(address);
    return `${address} is of another origin: a Content-Security-Policy of this page needs worker-src blob: ${origin}`;
  }
  if (isEmbedder(script)) return null;
  if (!page.isIsolated && !isEmbedder(await answerOf(page.address, page))) return null;
  return (
    `this page has a Cross-Origin-Embedder-Policy, and ${address} has none: send that header with the worker's ` +
    'script, too'
  );
}

/** Returns the answer to a request for the address; null if none came, or the page may not see it. */
async function answerOf(
  address: string,
  { fetch, timeout }: LookingPage,
  mode: RequestMode = 'cors',
): Promise<Response | null> {
  try {
    const response = await fetch(address, { mode, signal: timeout(LOOK_MS) });
    void response.body?.cancel();
    return response;
  } catch {
    return null;
  }
}

function isEmbedder(response: Response | null): boolean {
  const policy = response?.headers.get('cross-origin-embedder-policy') ?? '';
  return /require-corp|credentialless/.test(policy);
}
