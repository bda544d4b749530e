// Who may see which accounts. Unless tokens are given, every caller sees all.

import { apiError } from '../call/call.ts';

/** Account ids by bearer token. */
export type AccessTokens = Readonly<Record<string, readonly string[]>>;

/**
 * The accounts the caller may see; undefined means all.
 *
 * @throws ApiError 401 when tokens are given and the caller's is none of them
 */
export function visibleAccounts(
  headers: Headers,
  tokens: AccessTokens | undefined,
): readonly string[] | undefined {
  if (tokens === undefined) return undefined;
  const [, token = ''] = /^Bearer (.+)$/i.exec(headers.get('authorization') ?? '') ?? [];
  if (Object.hasOwn(tokens, token)) return tokens[token];
  throw apiError('TOKEN_UNKNOWN', 'The bearer token is not known.');
}
