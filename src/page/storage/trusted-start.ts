// Starts a worker in a page whose policy asks for Trusted Types (`require-trusted-types-for 'script'`).
//
// Bundlers find a worker only as `new Worker(new URL(…, import.meta.url))`, so its address cannot be made a trusted one
// where it is written. While the worker is started, `Worker` trusts it instead, by the policy `ctx-storage`.
//
// Invariant: only addresses of the page's origin are trusted, and nobody else gets the policy. Outside of a start, `Worker`
// is the browser's.

/** The part of Trusted Types that is used; TypeScript does not declare them. */
interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): TrustedPolicy;
  isScriptURL(value: unknown): boolean;
}

interface TrustedPolicy {
  createScriptURL(url: string): string;
}

const NAME = 'ctx-storage';

// A page may have one policy of a name.
let policy: TrustedPolicy | undefined;

/** Calls the function, in which `new Worker(address)` may be started. @throws its error */
export function startTrusted<T>(start: () => T): T {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  const { Worker } = globalThis;
  if (trustedTypes === undefined) return start();
  globalThis.Worker = new Proxy(Worker, {
    construct(target, [url, ...options], newTarget) {
      const construct = (address: unknown) =>
        Reflect.construct(target, [address, ...options], newTarget) as object;
      if (trustedTypes.isScriptURL(url) || !isOwn(String(url))) return construct(url);
      const own = policyOf(trustedTypes);
      return own === null
        ? withHint(() => construct(url))
        : construct(own.createScriptURL(String(url)));
    },
  });
  try {
    return start();
  } finally {
    globalThis.Worker = Worker;
  }
}

/** Null: the page allows none of this name. */
function policyOf(trustedTypes: TrustedTypes): TrustedPolicy | null {
  try {
    policy ??= trustedTypes.createPolicy(NAME, { createScriptURL: (own) => own });
    return policy;
  } catch {
    return null;
  }
}

/** Without the policy, a worker starts only in a page that asks for no trusted addresses. */
function withHint<T>(construct: () => T): T {
  try {
    return construct();
  } catch (cause) {
    const fact = cause instanceof Error ? cause.message : String(cause);
    const wayOut = `The Content-Security-Policy must allow this package's policy: trusted-types ${NAME}.`;
    throw new TypeError(`${fact} ${wayOut}`, { cause });
  }
}

function isOwn(url: string): boolean {
  try {
    return new URL(url, document.baseURI).origin === location.origin;
  } catch {
    return false;
  }
}
