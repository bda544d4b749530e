// The package's own addresses, which only its owner can set: in `package.json`, and nowhere else.

/** The fields of `package.json`. */
export const OWN_ADDRESSES = ['repository', 'homepage', 'bugs'] as const;

interface Manifest extends Partial<Record<(typeof OWN_ADDRESSES)[number], unknown>> {
  readonly [part: string]: unknown;
}

/** The fields that are not set. */
export function missingAddresses(manifest: Manifest): string[] {
  return OWN_ADDRESSES.filter((field) => manifest[field] === undefined);
}

/** Sites of others that documents link, and names that belong to nobody. */
const FOREIGN = [
  'github.com',
  'developers.cloudflare.com',
  'unpkg.com',
  'localhost',
  '127.0.0.1',
  '192.168',
  'counter',
  'example.com',
];

/** Addresses in a text that are neither set in the manifest, nor known sites of others: nobody knows that they exist. */
export function unknownAddresses(text: string, manifest: Manifest & { readonly name: string }) {
  const own = OWN_ADDRESSES.flatMap((field) => addressesIn(JSON.stringify(manifest[field] ?? '')));
  return addressesIn(text).filter((address) => {
    if (own.some((known) => address.startsWith(known))) return false;
    const host = /^https?:\/\/([^/:?]+)/.exec(address)![1]!;
    const isForeign = FOREIGN.includes(host) || /(?:^|\.)example$/.test(host);
    return !isForeign || address.includes(`/${manifest.name}`);
  });
}

function addressesIn(text: string): string[] {
  return [...text.matchAll(/https?:\/\/[\w@][\w./@:-]*/g)].map(([address]) =>
    address.replace(/(?:\.git|[.:])$/, ''),
  );
}
