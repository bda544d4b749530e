// Implements `fork`, `openBranch` and forks of stubs on a page.
//
// A branch has its own address, and each of its handles its own session. The worker ends a branch that is not kept when
// its last session ends.

import { mustBeStub } from '../../shared/calls/stubs/known-stubs.ts';
import { createStub, type ObjectCaller } from '../../shared/calls/stubs/stub.ts';
import { fromWireAddress } from '../../shared/calls/stubs/wire-address.ts';
import { checkArgumentCount } from '../../shared/contract/arguments.ts';
import { convertBranchName, convertForkOptions } from '../../shared/contract/branch-arguments.ts';
import { storageError } from '../../shared/contract/errors.ts';
import { idOfStorage } from '../../shared/contract/object-id.ts';
import type { WireAddress } from '../../shared/wire/address.ts';
import type { BranchFacts } from '../../shared/wire/results.ts';
import { Session, type SessionCalls, type SessionFinder } from './session.ts';

/** A branch, and an open session on it. */
export interface BranchSession {
  readonly facts: BranchFacts;
  readonly address: WireAddress;
  readonly session: Session;
}

/** Forks the object of the session. @throws as `fork` */
export async function forkBranch(
  origin: SessionCalls,
  now: () => number,
  args: readonly unknown[],
): Promise<BranchSession> {
  const fields = convertForkOptions('fork', args[0]);
  return openBranch(origin.session, now, await origin.call({ op: 'fork', ...fields }, null));
}

/**
 * Forks an object of a class. Returns a stub of the same class, whose object runs on the branch. Disposing of the stub ends
 * the branch, unless it is kept or has an open handle. @throws as `Objects.fork`
 */
export async function forkObject(
  caller: ObjectCaller,
  finder: SessionFinder,
  now: () => number,
  args: readonly unknown[],
): Promise<object> {
  checkArgumentCount('fork', args.length, 1);
  const target = mustBeStub('fork', args[0] as object);
  const origin = new Session(target.name ?? target.id, finder, now, target);
  try {
    await origin.open();
    const { address, session } = await forkBranch(origin, now, args.slice(1));
    const stub = createStub(fromWireAddress(address), caller);
    const dispose = () => session.close();
    return Object.defineProperty(stub, Symbol.asyncDispose, { value: dispose });
  } finally {
    void origin.close();
  }
}

/** Opens a branch that is kept. @throws BRANCH_ENDED if there is none of the name */
export async function openKeptBranch(
  origin: SessionCalls,
  now: () => number,
  args: readonly unknown[],
): Promise<BranchSession> {
  checkArgumentCount('openBranch', args.length, 1);
  const name = convertBranchName('openBranch', args[0]);
  const found = await origin.call({ op: 'branches' });
  const facts = found.find((branch) => branch.name === name);
  if (facts !== undefined) return openBranch(origin.session, now, facts);
  throw storageError(
    'BRANCH_ENDED',
    `openBranch: "${origin.session.name}" has no branch "${name}"; fork it with { name, keep: true }.`,
  );
}

async function openBranch(
  { target, name, finder }: Session,
  now: () => number,
  facts: BranchFacts,
): Promise<BranchSession> {
  const origin = addressOf(target);
  const address = { ...origin, branch: [...(origin.branch ?? []), facts.id] };
  const session = new Session(name, finder, now, address);
  await session.open();
  return { facts, address, session };
}

/** Returns the id of a handle's branch; null if it is not a branch of the object. */
export function branchIdIn(
  origin: string | WireAddress,
  branch: string | WireAddress,
): string | null {
  const { className, id, branch: way = [] } = addressOf(origin);
  const other = addressOf(branch);
  const { branch: ids = [] } = other;
  const isOwn = other.className === className && other.id === id;
  const isDirect = ids.length === way.length + 1 && way.every((step, i) => step === ids[i]);
  return isOwn && isDirect ? ids.at(-1)! : null;
}

function addressOf(target: string | WireAddress): WireAddress {
  if (typeof target !== 'string') return target;
  return { className: null, id: idOfStorage(target).toString(), name: target };
}
