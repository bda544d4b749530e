// Lets pages of a test work on a branch: their calls of an object reach the branch instead.
//
// A script that runs before a page's own rewrites the addresses in its messages to the worker; the app and its worker
// do not notice. Invariant: a page that has loaded earlier keeps its own objects, and no other object is affected.

import type { WireAddress } from '@ctx-storage/core/wire';
import type { BrowserContext } from '@playwright/test';
import { HELPER_PATH } from './page/helper-protocol.ts';

interface BranchRedirection {
  /** The script with the highest round counts, because Playwright runs its scripts in any order. */
  readonly round: number;
  readonly branches: readonly WireAddress[];
}

export class BranchedPages {
  readonly #context: BrowserContext;
  #last: BranchRedirection = { round: 0, branches: [] };

  constructor(context: BrowserContext) {
    this.#context = context;
  }

  /**
   * Directs pages that load from now on to this branch. If there are several branches of one object, the last one
   * counts.
   */
  begin(branch: WireAddress): Promise<void> {
    return this.#tell([branch, ...this.#last.branches]);
  }

  /** Directs pages that load from now on to the object again. */
  async end(branch: WireAddress): Promise<void> {
    const others = this.#last.branches.filter((other) => other !== branch);
    if (others.length < this.#last.branches.length) await this.#tell(others);
  }

  async #tell(branches: readonly WireAddress[]): Promise<void> {
    this.#last = { round: this.#last.round + 1, branches };
    await this.#context.addInitScript(reachBranches, {
      ...this.#last,
      name: 'ctxStorageTestBranches',
      helperPath: HELPER_PATH,
    });
  }
}

/** Runs in a page, before its first script. It may use nothing but its argument and globals. */
export function reachBranches({
  name,
  helperPath,
  round,
  branches,
}: BranchRedirection & { readonly name: string; readonly helperPath: string }): void {
  type Message = readonly unknown[] | { readonly type?: unknown; readonly messages?: unknown };
  if (location.pathname.startsWith(helperPath)) return;
  const scope = globalThis as unknown as Record<string, BranchRedirection | undefined>;
  const known = scope[name];
  if (known === undefined || known.round < round) scope[name] = { round, branches };
  if (known !== undefined) return; // The messages of the page are rewritten already.
  const reached = (target: unknown): unknown => {
    // For an object of `openStorage`, a page sends only the name.
    const given = (
      typeof target === 'string' ? { className: null, name: target } : target
    ) as WireAddress;
    const branch = scope[name]!.branches.find(
      ({ className, id, name }) =>
        className === given.className &&
        (given.id === undefined ? name === given.name : id === given.id),
    );
    if (branch === undefined) return target;
    // If the page itself has forked the branch, it is a branch of this branch.
    const way = [...branch.branch!, ...(given.branch ?? [])];
    return { ...given, id: branch.id, branch: way };
  };
  const rewritten = (message: Message | null | undefined): unknown => {
    if (typeof message !== 'object' || message === null) return message;
    if (!Array.isArray(message)) {
      const { type, messages } = message as { type?: unknown; messages?: unknown };
      if (type !== 'pack' || !Array.isArray(messages)) return message;
      return { ...message, messages: messages.map(rewritten) };
    }
    if (message.length === 2 && typeof message[0] === 'string') {
      return [message[0], rewritten(message[1])]; // The channel also carries other messages.
    }
    const [number, method, parameters] = message;
    if (message.length !== 3 || !Array.isArray(parameters)) return message;
    const [first, ...rest] = parameters;
    if (method === 'open' || method === 'call') return [number, method, [reached(first), ...rest]];
    if (method !== 'openLive') return message;
    return [number, method, [{ ...first, target: reached(first.target) }, ...rest]];
  };
  for (const { prototype } of [Worker, MessagePort, BroadcastChannel]) {
    const post = prototype.postMessage as (...parameters: unknown[]) => void;
    prototype.postMessage = function (this: unknown, message: Message, ...rest: unknown[]) {
      post.call(this, rewritten(message), ...rest);
    };
  }
}
