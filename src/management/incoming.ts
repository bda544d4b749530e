// A request of a client, taken apart: its path without base and spelling, its query, its body.

import { apiError } from './call.ts';

/** The path below the base path, without a slash at its end. */
export function pathBelow(pathname: string, basePath: string): string {
  const base = basePath.replace(/\/+$/, '');
  const below =
    pathname === base || pathname.startsWith(`${base}/`) ? pathname.slice(base.length) : pathname;
  return `/${below.replace(/^\/+|\/+$/g, '')}`;
}

/** Each parameter once; repeated ones are joined by a comma. */
export function queryOf(parameters: URLSearchParams): Record<string, string> {
  const query: Record<string, string> = {};
  for (const name of new Set(parameters.keys())) query[name] = parameters.getAll(name).join(',');
  return query;
}

/**
 * The decoded JSON, or the text fields of a multipart form; undefined when nothing was sent.
 *
 * @throws ApiError 400 when it cannot be decoded
 */
export async function bodyOf(request: Request): Promise<unknown> {
  if (request.method === 'GET') return undefined;
  if (request.headers.get('content-type')?.startsWith('multipart/form-data')) {
    const form = await request.formData().catch((error: unknown) => {
      throw apiError('BODY_INVALID', `The form cannot be decoded: ${String(error)}.`);
    });
    return Object.fromEntries([...form].filter(([, value]) => typeof value === 'string'));
  }
  const text = await request.text();
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw apiError('BODY_INVALID', `The body is no JSON: ${(error as Error).message}.`);
  }
}
