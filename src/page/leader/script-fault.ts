// Why a browser has refused the script of a worker: it tells the page no more than that it has.
//
// The page loads the script once more and looks at the answer.
//
// Invariant: it settles within LOOK_MS for each look, and names only what it has seen.

/** The page that looks. */
export interface LookingPage {
  readonly fetch: (address: string, init: RequestInit) => Promise<Response>;
  /** Aborts a look that takes too long. */
  readonly timeout: (delayMs: number) => AbortSignal;
  readonly address: string;
  /** It has a Cross-Origin-Embedder-Policy for certain; false: its own answer must be looked at. */
  readonly isIsolated: boolean;
}

const LOOK_MS = 1000;

/** Null: nothing was seen. */
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

/** Null: there was none, or the page may not see it. */
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
