// Checks a file of the build that comes from the service worker's cache.
//
// Invariant: only content that the build made is shown. The check is needed because any code of this origin can write
// to the cache, even a stranger's that the visitor trusts, and a page that it puts there would not have its policy.

export interface KeptFile {
  readonly url: string;
  readonly revision: string;
  /** The digest of the file's content, in the format of the attribute `integrity`. */
  readonly integrity: string;
  /** All headers of the file. The headers in the cache are not used, because they could redirect. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Returns the response with the file's headers; null if its content is not the file's. */
export async function asBuilt(file: KeptFile, kept: Response): Promise<Response | null> {
  const content = await kept.arrayBuffer();
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', content));
  const integrity = `sha256-${btoa(String.fromCharCode(...digest))}`;
  return integrity === file.integrity ? new Response(content, { headers: file.headers }) : null;
}
