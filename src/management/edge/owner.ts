// The zone or account that a path names, and whether it exists for the caller.

import { apiError, type Call } from '../call/call.ts';
import { matchPath } from '../schedule/paths.ts';

interface NamedOwner {
  readonly kind: 'zone' | 'account';
  readonly id: string;
}

const OWNED: readonly (readonly [shape: string, kind: NamedOwner['kind']])[] = [
  ['/zones/:id/*', 'zone'],
  ['/accounts/:id/*', 'account'],
  ['/organizations/:id/*', 'account'],
];

/** Undefined for paths of the directory. */
export function ownerIn(path: string): NamedOwner | undefined {
  for (const [shape, kind] of OWNED) {
    const match = matchPath(shape, path);
    if (match) return { kind, id: match.params.id! };
  }
  return undefined;
}

/** @throws ApiError 404 if the path names an unknown zone or account, 403 if the caller may not see it */
export function requireOwner(
  call: Pick<Call, 'path' | 'zone' | 'account' | 'visibleAccounts'>,
): void {
  const named = ownerIn(call.path);
  if (named && call[named.kind] === undefined) {
    throw apiError('RESOURCE_UNKNOWN', `There is no ${named.kind} ${named.id}.`);
  }
  if (call.account && call.visibleAccounts?.includes(call.account.id) === false) {
    throw apiError('FORBIDDEN', `The token has no access to ${call.path}.`);
  }
}
