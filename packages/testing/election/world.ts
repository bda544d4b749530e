// The world of the model: three tabs with their workers, the locks between them, and what is on its way.
//
// A page or worker is a thread with one queue of tasks, which it handles in order, at any speed. A message is in the queue
// of its receiver at once, unless a fault holds it back.
//
// Invariant: a world is data and is never changed; parts that are equal may be shared.

import { newTab, type Tab, type TabEvent, type TabTimer } from '../../../src/page/leader/tab.ts';
import type { Order } from '../../../src/shared/contract/deployment.ts';
import type { StorageMedium } from '../../../src/shared/contract/medium.ts';
import {
  type Candidacy,
  type CandidacyEvent,
  newCandidacy,
  type Question,
} from '../../../worker/start/boot/candidacy.ts';

export const MEDIUM: StorageMedium = 'opfs';

export const ERROR = new Error('a fault of the model');

export const deploymentOf = (build: number) => ({ build, code: `${build}`, startedMs: build });

export const orderOf = (other: { build: unknown }, own: { build: unknown }): Order => {
  const sign = Number(other.build) - Number(own.build);
  return sign === 0 ? 'same' : sign > 0 ? 'newer' : 'older';
};

export const lineOf = (build: number) => `line ${build}`;

/** A leader of another tab, as pages hear of it. */
export const foundLeader = (worker: string) => ({
  worker,
  medium: MEDIUM,
  version: 1,
  refusal: null,
});

export type TabIndex = 0 | 1 | 2;

export const TAB_INDEXES: readonly TabIndex[] = [0, 1, 2];

/** Tasks of a page. `worker` and `term` name a connection: a worker may lead several times. */
export type PageTask =
  | { readonly kind: 'event'; readonly event: TabEvent }
  | {
      readonly kind: 'announced';
      readonly worker: string;
      readonly build: number;
    }
  | { readonly kind: 'leads'; readonly worker: string; readonly term: number }
  | { readonly kind: 'accepted'; readonly connection: number; readonly term: number }
  | { readonly kind: 'yields' | 'ended'; readonly worker: string; readonly term: number }
  /** The lock of a worker is free. */
  | { readonly kind: 'released'; readonly worker: string };

export type WorkerTask =
  | { readonly kind: 'event'; readonly event: CandidacyEvent }
  | { readonly kind: 'list'; readonly question: Question }
  | { readonly kind: 'closeHost' }
  | { readonly kind: 'connect'; readonly tab: TabIndex; readonly connection: number };

export interface ModelTimer {
  readonly timer: TabTimer;
  readonly event: TabEvent;
}

export interface ModelPage {
  readonly core: Tab;
  readonly tasks: readonly PageTask[];
  readonly timers: readonly ModelTimer[];
  readonly standing: 'connecting' | 'leading' | 'following' | 'lost';
  /** True while the promise of a succession is not settled. */
  readonly isSucceeding: boolean;
  /** The term of the leading worker when it gave the connection. */
  readonly term: number;
  /** The term in the offer or answer that the page handles. */
  readonly offeredTerm: number;
}

export interface ModelWorker {
  readonly id: string;
  readonly build: number;
  readonly core: Candidacy;
  readonly tasks: readonly WorkerTask[];
  /** `stuck` if the script of the worker never arrives. */
  readonly script: 'runs' | 'stuck';
  /** True while the worker holds the lock by which other candidates see it. */
  readonly isShown: boolean;
  /** True while the page of the worker watches the worker's lock. */
  readonly isWatched: boolean;
  /** The number of times that the worker has led. */
  readonly term: number;
  /** The tabs to which the worker has given connections since it became the leader. */
  readonly clients: readonly TabIndex[];
}

export interface ModelTab {
  readonly build: number;
  /** The page of the tab; null if the tab was closed. */
  readonly page: ModelPage | null;
  readonly workers: readonly ModelWorker[];
  readonly isFrozen: boolean;
  /** The number of workers that the tab has started. */
  readonly workerCount: number;
  /** The next workers run this build. */
  readonly nextBuild: number;
}

export interface Shared {
  /** Workers in the order of their requests for the leader's lock: a worker that steps down has two. */
  readonly leader: readonly string[];
  /** The first one has been told that it holds the lock. */
  readonly isGranted: boolean;
  /** Tabs, by deployment. */
  readonly reserve: Readonly<Record<string, readonly TabIndex[]>>;
  /** The worker that has the files open. */
  readonly host: string | null;
}

export interface LateTask {
  readonly to: TabIndex | string;
  readonly task: PageTask | WorkerTask;
}

/** How many faults of each kind may still happen. */
export interface FaultBudget {
  /** Tabs are closed. */
  readonly kills: number;
  /** The browser freezes a tab and its worker, with or without telling it before. It thaws at some later time. */
  readonly freezes: number;
  /** Workers are terminated. */
  readonly terminations: number;
  /** Scripts of workers that cannot be loaded, or never arrive. */
  readonly unloaded: number;
  /** Workers that lead and cannot open the files. */
  readonly unopened: number;
  /** Messages between tabs that come at some later time. */
  readonly late: number;
  /** Messages between tabs that do not come. */
  readonly lost: number;
  /** No fault: a page starts newer code in place of its worker. */
  readonly successions: number;
}

export interface Rest {
  readonly faults: FaultBudget;
  readonly late: readonly LateTask[];
  /** Tabs with a worker that could not start or open, so that the page may call older code. */
  readonly unable: readonly TabIndex[];
  /** Tabs with a worker that could not open the files: it takes over from nobody. */
  readonly refused: readonly TabIndex[];
}

export interface World {
  readonly tabs: readonly [ModelTab, ModelTab, ModelTab];
  readonly shared: Shared;
  readonly rest: Rest;
}

export const tabOf = (worker: string): TabIndex => (worker.charCodeAt(0) - 65) as TabIndex;

export const nameOf = (tab: TabIndex): string => 'ABC'[tab]!;

export function workerIn(world: World, id: string): ModelWorker | undefined {
  return world.tabs[tabOf(id)].workers.find((worker) => worker.id === id);
}

export function workersIn(world: World): readonly ModelWorker[] {
  return world.tabs.flatMap(({ workers }) => workers);
}

export function newPage(): ModelPage {
  return {
    core: newTab(true),
    tasks: [],
    timers: [],
    standing: 'connecting',
    isSucceeding: false,
    term: 0,
    offeredTerm: 0,
  };
}

export function newWorker(id: string, build: number): ModelWorker {
  return {
    id,
    build,
    core: newCandidacy(id),
    tasks: [],
    script: 'runs',
    isShown: false,
    isWatched: false,
    term: 0,
    clients: [],
  };
}

/** A promise of the election that does not hold. */
export class Broken extends Error {}
