// The checker of regular expressions in JavaScript alone, whose types the package keeps for its main module.

declare module 'recheck/lib/browser.js' {
  interface Verdict {
    readonly status: 'safe' | 'vulnerable' | 'unknown';
    readonly error?: { readonly kind: string };
  }
  const recheck: {
    checkSync(source: string, flags: string, options: Readonly<Record<string, unknown>>): Verdict;
  };
  export default recheck;
}
