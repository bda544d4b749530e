// A digest of the code that a worker runs: equal in all tabs of one deployment, and different in those of
// another, as far as that can be told without the app's help.
//
// The address of the script tells deployments apart whose bundler puts a hash into it. The text of the classes
// tells apart most others. A blob's address differs in each tab, so it tells nothing.

import type { ClassRegistry } from '../instance/object-class.ts';

/** `address`: of the worker's script. */
export async function codeDigest(address: string, classes?: ClassRegistry): Promise<string> {
  const hosted = [...(classes?.all ?? []), ...(classes?.facetClasses.values() ?? [])];
  const texts = hosted.map(({ name, construct }) => `${name}\n${construct}`);
  const place = address.startsWith('blob:') ? '' : address.split('#', 1)[0]!;
  const bytes = new TextEncoder().encode(JSON.stringify([place, ...texts]));
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return Array.from(digest.subarray(0, 16), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
