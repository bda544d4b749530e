// A file of the build in the service worker's cache.
//
// Invariant: what is shown is what the build made. Any code of this origin can write to the cache, also a stranger's that
// the visitor trusts, whose policy would not hold for a page of its own making.

export interface KeptFile {
  readonly url: string;
  readonly revision: string;
  /** The digest of its content, as in the attribute `integrity`. */
  readonly integrity: string;
  /** All of its headers: the cache's own may lead elsewhere. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Null: the content is not the file's. */
export async function asBuilt(file: KeptFile, kept: Response): Promise<Response | null> {
  const content = await kept.arrayBuffer();
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', content));
  const integrity = `sha256-${btoa(String.fromCharCode(...digest))}`;
  return integrity === file.integrity ? new Response(content, { headers: file.headers }) : null;
}
