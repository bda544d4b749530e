// Which accounts a caller may see. Without configured tokens, every caller sees all accounts.

import { apiError } from '../call/call.ts';

/** Account ids by bearer token. */
export type AccessTokens = Readonly<Record<string, readonly string[]>>;

/**
 * The accounts the caller may see; undefined means all.
 *
 * @throws ApiError 401 if tokens are configured and the caller's token is not one of them
 */
export function visibleAccounts(
  headers: Headers,
  tokens: AccessTokens | undefined,
): readonly string[] | undefined {
  if (tokens === undefined) return undefined;
  const [, token = ''] = /^Bearer (.+)$/i.exec(headers.get('authorization') ?? '') ?? [];
  if (Object.hasOwn(tokens, token)) return tokens[token];
  throw apiError('TOKEN_UNKNOWN', 'The bearer token is unknown.');
}
