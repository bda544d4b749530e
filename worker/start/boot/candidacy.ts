// A candidate's side of the election: its states, and its transitions. The functions are pure: they take a state
// and an event, and return the next state and the effects.
//
// Candidates wait in the queue of the leader's lock. When its turn comes, a candidate goes back in the queue while a
// candidate of a newer deployment waits; and a candidate that hears that an older deployment leads asks that leader to step
// down. So the newest living deployment leads, or the last tab, whatever deployment it runs.
//
// The caller performs the effects of an event in order, before the next event.
//
// Invariants:
//   the host is opened only while the lock is held, and the lock is released only after the host has closed
//   the election ends in whatever way deployments compare: a candidate stands back for another once until somebody leads,
//   asks each leader to step down once, and asks no leader while a candidate lives that it stepped down for
// The first invariant is asserted. The second concerns several workers, so the model checks it.
//
// This file does not know locks, channels, objects, files, nor the time. packages/testing/election walks its states.

import {
  type Deployment,
  nameOfNewer,
  type Order,
} from '../../../src/shared/contract/deployment.ts';
import { assert } from '../../../src/shared/contract/invariant.ts';
import type { StorageMedium } from '../../../src/shared/contract/medium.ts';
import {
  type ControlMessage,
  OWN_VERSIONS,
  type Versions,
  type WorkerMessage,
} from '../../../src/shared/wire/control.ts';
import type { MachineStep } from '../../../src/shared/wire/machine.ts';
import type { LivingCandidate } from './candidates.ts';

/** Whether a waiting candidate takes over from an older leader. */
export type Takeover =
  | { readonly kind: 'none' }
  /** The candidate has asked this leader to step down. */
  | { readonly kind: 'asked'; readonly leader: string }
  /** The host could not be created. The candidate leads if no other worker does, and asks no leader to step down. */
  | { readonly kind: 'refused' };

export type CandidatePlace =
  | { readonly kind: 'new' }
  /** The candidate is in no queue. Its page was informed, and may start the candidate again. */
  | { readonly kind: 'failed' }
  /** The other candidates do not see this candidate yet. */
  | { readonly kind: 'introducing'; readonly takeover: Takeover }
  /**
   * `turn` is null while the candidate is in the queue. With the lock, the candidate finds out who waits, then opens
   * the host.
   */
  | {
      readonly kind: 'waiting';
      readonly takeover: Takeover;
      readonly turn: null | 'looking' | 'opening';
    }
  | { readonly kind: 'leading'; readonly medium: StorageMedium }
  /** The candidate holds the lock until its host has closed. It is already in the queue again. */
  | { readonly kind: 'yielding' }
  /** The candidate holds the lock until its worker has ended, and serves no page. */
  | { readonly kind: 'ending' };

export interface Candidacy {
  readonly worker: string;
  /**
   * The candidate's own deployment. Null before the first introduction; until then the candidate ignores other workers.
   */
  readonly deployment: Deployment | null;
  readonly place: CandidatePlace;
  /** The candidates that this candidate has stood back for since it last heard of a leader. */
  readonly stoodBackFor: readonly string[];
  /** The candidates that this candidate has stepped down for. */
  readonly steppedDownFor: readonly string[];
  /** The leaders that this candidate has asked to step down before its last turn. */
  readonly askedBefore: readonly string[];
  /** How often a leader was heard. An answer that belongs to an earlier count is out of date. */
  readonly heardCount: number;
}

/**
 * Another worker that leads, as its announcement describes it. The deployment is null if the leader's version of this
 * package announces no deployment.
 */
export interface AnnouncedLeader extends Versions {
  readonly worker: string;
  readonly deployment: Deployment | null;
  readonly medium: StorageMedium;
}

/** The reason for which the candidate asks which candidates live. */
export type Question =
  | { readonly kind: 'turn' }
  | { readonly kind: 'judgement'; readonly leader: AnnouncedLeader; readonly count: number }
  | { readonly kind: 'takeover'; readonly by: string };

export type Judgement = Extract<Question, { kind: 'judgement' }>;

export type CandidacyEvent =
  /** The page searches for a leader. */
  | { readonly kind: 'started' }
  /** The worker's lock is held, and its deployment is known. */
  | { readonly kind: 'introduced'; readonly deployment: Deployment }
  /** The introduction, a lock or the list of candidates has failed. */
  | { readonly kind: 'failed'; readonly error: unknown }
  /** The leader's lock is held. */
  | { readonly kind: 'turn' }
  /** The answer to a question. `living` is empty if the browser lists no locks. */
  | {
      readonly kind: 'listed';
      readonly question: Question;
      readonly living: readonly LivingCandidate[];
    }
  | { readonly kind: 'opened'; readonly medium: StorageMedium }
  | { readonly kind: 'notOpened'; readonly error: unknown }
  /** Another worker announces that it leads. */
  | { readonly kind: 'heard'; readonly leader: AnnouncedLeader }
  /** A page or a candidate asks who leads. */
  | { readonly kind: 'asked' }
  /** A candidate asks this worker to step down. */
  | { readonly kind: 'takeover'; readonly by: string }
  /** The files of the host are loaded, so that the candidate may take over. */
  | { readonly kind: 'prepared'; readonly judgement: Judgement }
  | { readonly kind: 'notPrepared'; readonly judgement: Judgement; readonly error: unknown }
  /** The host and all of its connections have closed. */
  | { readonly kind: 'yielded' }
  /** The host has lost its files. */
  | { readonly kind: 'lost'; readonly error: Error };

export type CandidacyEffect =
  /**
   * Waits for the worker's own lock, tells the page, and finds out the deployment. The resulting event is `introduced`
   * or `failed`.
   */
  | { readonly kind: 'introduce' }
  /** Requests the leader's lock, then shows the candidate to the others. The resulting event is `turn` or `failed`. */
  | { readonly kind: 'queue' }
  /** Releases the leader's lock. */
  | { readonly kind: 'release' }
  /** Hides the candidate from the others. */
  | { readonly kind: 'hide' }
  /**
   * Shows the candidate to the others, and finds out which candidates live. The resulting event is `listed` or
   * `failed`.
   */
  | { readonly kind: 'list'; readonly question: Question }
  /** Loads the files of the host. The resulting event is `prepared` or `notPrepared`. */
  | { readonly kind: 'prepare'; readonly judgement: Judgement }
  /** Loads the files of the host when this candidate is the next in line. */
  | { readonly kind: 'prepareInLine' }
  /** Opens the host. The resulting event is `opened` or `notOpened`. */
  | { readonly kind: 'open' }
  /** Serves pages from now on. The worker's own page is connected. */
  | { readonly kind: 'serve'; readonly medium: StorageMedium }
  | { readonly kind: 'connectOwnPage' }
  /** Tells the page again that the worker runs. */
  | { readonly kind: 'confirm' }
  /** Steps down in order, and closes the host. The resulting event is `yielded`. */
  | { readonly kind: 'yield'; readonly fact: string }
  /** Ends every connection, then ends the worker. */
  | { readonly kind: 'end'; readonly error: Error }
  /** Tells the page that this worker cannot lead. */
  | { readonly kind: 'report'; readonly error: unknown }
  | { readonly kind: 'post'; readonly message: WorkerMessage }
  | { readonly kind: 'tell'; readonly message: ControlMessage };

export type CandidacyStep = MachineStep<Candidacy, CandidacyEffect>;

/** Compares another deployment with the candidate's own. */
export type CompareDeployments = (other: Deployment, own: Deployment) => Order;

const NO_TAKEOVER: Takeover = { kind: 'none' };

export function newCandidacy(worker: string): Candidacy {
  return {
    worker,
    deployment: null,
    place: { kind: 'new' },
    stoodBackFor: [],
    steppedDownFor: [],
    askedBefore: [],
    heardCount: 0,
  };
}

export function stepCandidacy(
  state: Candidacy,
  event: CandidacyEvent,
  orderOf: CompareDeployments,
): CandidacyStep {
  switch (event.kind) {
    case 'started':
      return onStarted(state);
    case 'introduced':
      return onIntroduced(state, event.deployment);
    case 'failed':
      return onFailed(state, event.error);
    case 'turn':
      return takesTurn(state);
    case 'listed':
      return onListed(state, event.question, event.living, orderOf);
    case 'opened':
      return leads(state, event.medium);
    case 'notOpened':
      return notOpened(state, event.error);
    case 'heard':
      return heard(state, event.leader, orderOf);
    case 'asked':
      return unchanged(state, ...announcement(state));
    case 'takeover': {
      const isAsked = state.place.kind === 'leading';
      const question = { kind: 'takeover', by: event.by } as const;
      return isAsked ? unchanged(state, { kind: 'list', question }) : unchanged(state);
    }
    case 'prepared':
      return onJudged(state, event.judgement, 'older');
    case 'notPrepared': {
      const { place } = state;
      const isWaiting = place.kind === 'waiting';
      const refused = isWaiting ? { ...place, takeover: { kind: 'refused' } as const } : place;
      const { error } = event;
      return after(
        { kind: 'report', error },
        onJudged({ ...state, place: refused }, event.judgement, 'same'),
      );
    }
    case 'yielded':
      if (state.place.kind !== 'yielding') return unchanged(state); // Site data was cleared meanwhile.
      return waits(state, NO_TAKEOVER, { kind: 'release' });
    case 'lost':
      if (state.place.kind !== 'leading' && state.place.kind !== 'yielding')
        return unchanged(state);
      return to(state, { kind: 'ending' }, { kind: 'end', error: event.error });
  }
}

function onStarted(state: Candidacy): CandidacyStep {
  const { kind } = state.place;
  if (kind === 'new' || kind === 'failed') {
    const takeover = kind === 'new' ? NO_TAKEOVER : ({ kind: 'refused' } as const);
    return to(state, { kind: 'introducing', takeover }, { kind: 'introduce' });
  }
  // The page may have forgotten this worker since the worker announced itself.
  const confirm = { kind: 'confirm' } as const;
  return kind === 'leading'
    ? unchanged(state, { kind: 'connectOwnPage' }, confirm)
    : unchanged(state, confirm);
}

function onIntroduced(state: Candidacy, deployment: Deployment): CandidacyStep {
  if (state.place.kind !== 'introducing') return unchanged(state);
  const who = { kind: 'tell', message: { type: 'who' } } as const;
  return waits({ ...state, deployment }, state.place.takeover, { kind: 'queue' }, who);
}

/**
 * Handles a failure. A host that is being opened is not given up: no other worker may open it before this opening has
 * ended.
 */
function onFailed(state: Candidacy, error: unknown): CandidacyStep {
  const { place } = state;
  if (place.kind === 'introducing') return fails(state, error);
  if (place.kind !== 'waiting' || place.turn === 'opening') return unchanged(state);
  return place.turn === null ? fails(state, error) : fails(state, error, { kind: 'release' });
}

function notOpened(state: Candidacy, error: unknown): CandidacyStep {
  mustBeOpening(state);
  return fails(state, error, { kind: 'release' });
}

function fails(state: Candidacy, error: unknown, ...effects: CandidacyEffect[]): CandidacyStep {
  return to(state, { kind: 'failed' }, { kind: 'hide' }, { kind: 'report', error }, ...effects);
}

function takesTurn(state: Candidacy): CandidacyStep {
  const { place, askedBefore } = state;
  // The candidate has failed since it requested the lock.
  if (place.kind !== 'waiting') return unchanged(state, { kind: 'release' });
  const { takeover } = place;
  const isAsked = takeover.kind === 'asked';
  const asked = isAsked ? withAdded(askedBefore, takeover.leader) : askedBefore;
  return to(
    { ...state, askedBefore: asked },
    { kind: 'waiting', takeover: isAsked ? NO_TAKEOVER : takeover, turn: 'looking' },
    { kind: 'list', question: { kind: 'turn' } },
  );
}

function onListed(
  state: Candidacy,
  question: Question,
  living: readonly LivingCandidate[],
  orderOf: CompareDeployments,
): CandidacyStep {
  switch (question.kind) {
    case 'turn':
      return leadsUnlessNewerWaits(state, living, orderOf);
    case 'judgement': {
      // A leader that sees no candidates would not step down.
      const isVain =
        living.length === 0 || living.some(({ worker }) => state.steppedDownFor.includes(worker));
      return isVain
        ? onJudged(state, question, 'same')
        : unchanged(state, { kind: 'prepare', judgement: question });
    }
    case 'takeover':
      return yieldsTo(
        state,
        living.find(({ worker }) => worker === question.by),
      );
  }
}

function leadsUnlessNewerWaits(
  state: Candidacy,
  living: readonly LivingCandidate[],
  orderOf: CompareDeployments,
): CandidacyStep {
  const { place, deployment, stoodBackFor } = state;
  if (place.kind !== 'waiting' || place.turn !== 'looking' || deployment === null) {
    return unchanged(state);
  }
  const newer = living
    .filter((other) => orderOf(other.deployment, deployment) === 'newer')
    .map(({ worker }) => worker)
    .filter((worker) => !stoodBackFor.includes(worker));
  if (newer.length === 0) return to(state, { ...place, turn: 'opening' }, { kind: 'open' });
  const back = { ...state, stoodBackFor: withAdded(stoodBackFor, ...newer) };
  return waits(back, place.takeover, { kind: 'queue' }, { kind: 'release' });
}

function leads(state: Candidacy, medium: StorageMedium): CandidacyStep {
  mustBeOpening(state);
  const leading = { ...state, place: { kind: 'leading', medium } } as const;
  return unchanged(leading, { kind: 'serve', medium }, ...announcement(leading));
}

function mustBeOpening({ place }: Candidacy): void {
  const isOpening = place.kind === 'waiting' && place.turn === 'opening';
  assert(isOpening, 'a host was opened out of turn');
}

function announcement({ worker, deployment, place }: Candidacy): CandidacyEffect[] {
  if (place.kind !== 'leading' || deployment === null) return [];
  const { medium } = place;
  const message = { type: 'leads', worker, deployment, medium, ...OWN_VERSIONS } as const;
  return [{ kind: 'tell', message }];
}

/** The page follows the leader, waits until this worker has taken over from it, or learns that it is outdated. */
function heard(
  state: Candidacy,
  leader: AnnouncedLeader,
  orderOf: CompareDeployments,
): CandidacyStep {
  const { deployment, worker } = state;
  if (deployment === null || leader.worker === worker) return unchanged(state);
  const count = state.heardCount + 1;
  const next = { ...state, stoodBackFor: [], heardCount: count };
  const judgement = { kind: 'judgement', leader, count } as const;
  // A leader of a version that does not announce its deployment would not step down.
  const order = leader.deployment === null ? 'same' : orderOf(leader.deployment, deployment);
  if (order !== 'older') return onJudged(next, judgement, order);
  return mayAsk(next, leader.worker)
    ? unchanged(next, { kind: 'list', question: judgement })
    : onJudged(next, judgement, 'same');
}

function mayAsk({ place, askedBefore }: Candidacy, leader: string): boolean {
  const isAble = place.kind === 'waiting' && place.takeover.kind !== 'refused';
  return isAble && !askedBefore.includes(leader);
}

function onJudged(state: Candidacy, { leader, count }: Judgement, order: Order): CandidacyStep {
  if (count !== state.heardCount) return unchanged(state); // Another leader was heard since the question was asked.
  const { worker, deployment, ...facts } = leader;
  const own = order === 'same' && deployment !== null ? state.deployment : null;
  const build = deployment?.build ?? null;
  const message = { type: 'heard', worker, build, order, own, ...facts } as const;
  const post = { kind: 'post', message } as const;
  if (order !== 'older') return unchanged(state, post, { kind: 'prepareInLine' });
  const { place } = state;
  // If this worker leads by now, the message is from an earlier leader.
  if (place.kind !== 'waiting') return unchanged(state, post);
  const request = { type: 'takeover', worker, by: state.worker } as const;
  const asking = { ...place, takeover: { kind: 'asked', leader: worker } } as const;
  return to(state, asking, post, { kind: 'tell', message: request });
}

/**
 * Stands back for a newer candidate. Only a candidate in the queue is accepted, because then a worker leads afterwards.
 */
function yieldsTo(state: Candidacy, newer: LivingCandidate | undefined): CandidacyStep {
  if (newer === undefined || state.place.kind !== 'leading') return unchanged(state);
  const steppedDownFor = withAdded(state.steppedDownFor, newer.worker);
  const fact = `${nameOfNewer(newer.deployment)} has taken over`;
  return to(
    { ...state, steppedDownFor },
    { kind: 'yielding' },
    { kind: 'queue' },
    { kind: 'yield', fact },
  );
}

function waits(state: Candidacy, takeover: Takeover, ...effects: CandidacyEffect[]): CandidacyStep {
  return to(state, { kind: 'waiting', takeover, turn: null }, ...effects);
}

function to(state: Candidacy, place: CandidatePlace, ...effects: CandidacyEffect[]): CandidacyStep {
  return { state: { ...state, place }, effects };
}

function unchanged(state: Candidacy, ...effects: CandidacyEffect[]): CandidacyStep {
  return { state, effects };
}

function after(first: CandidacyEffect, { state, effects }: CandidacyStep): CandidacyStep {
  return { state, effects: [first, ...effects] };
}

function withAdded(list: readonly string[], ...more: string[]): readonly string[] {
  return [...new Set([...list, ...more])];
}
