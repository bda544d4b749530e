// Defects of the election, each of which the model must find: a change of the effects or the inputs of a core.
//
// Invariant: a defect changes one behaviour, outside of the cores.

import type { Tab, TabEffect, TabEvent } from '../../../src/page/leader/tab.ts';
import type {
  Candidacy,
  CandidacyEffect,
  CandidacyEvent,
} from '../../../worker/start/boot/candidacy.ts';

/** Where a defect can be put in. Absent: nothing is changed. */
export interface Defects {
  /** Replaces an event of the page's machine; null drops the event. */
  readonly tabEvent?: (event: TabEvent, state: Tab) => TabEvent | null;
  readonly tabEffects?: (
    effects: readonly TabEffect[],
    event: TabEvent,
    before: Tab,
  ) => readonly TabEffect[];
  readonly candidacyEvent?: (event: CandidacyEvent, state: Candidacy) => CandidacyEvent;
  readonly candidacyEffects?: (
    effects: readonly CandidacyEffect[],
    event: CandidacyEvent,
  ) => readonly CandidacyEffect[];
}

/** The defects by name. The model must refute each of them. */
export const DEFECTS: Readonly<Record<string, Defects>> = {
  'the lock is released before the host has closed': {
    candidacyEffects: (effects) =>
      effects.some(({ kind }) => kind === 'yield') ? [...effects, { kind: 'release' }] : effects,
  },
  'the host is opened before the lock is held': {
    candidacyEffects: (effects, event) =>
      event.kind === 'introduced' ? [...effects, { kind: 'open' }] : effects,
  },
  'a leader that steps down leaves the queue': {
    candidacyEffects: (effects) =>
      effects.some(({ kind }) => kind === 'yield') ? without(effects, 'queue') : effects,
  },
  'a leader that steps down keeps the lock': {
    candidacyEffects: (effects, event) =>
      event.kind === 'yielded' ? without(effects, 'release') : effects,
  },
  'a candidate that stands back leaves the queue': {
    candidacyEffects: (effects, event) =>
      event.kind === 'listed' ? withoutRequest(effects) : effects,
  },
  'a candidate whose host cannot be opened keeps the lock': {
    candidacyEffects: (effects, event) =>
      event.kind === 'notOpened' ? without(effects, 'release') : effects,
  },
  'nobody asks an older leader to step down': {
    candidacyEffects: (effects) =>
      effects.filter((effect) => effect.kind !== 'tell' || effect.message.type !== 'takeover'),
  },
  'a leader does not announce itself': {
    candidacyEffects: (effects) =>
      effects.filter((effect) => effect.kind !== 'tell' || effect.message.type !== 'leads'),
  },
  'a candidate calls every leader the same': {
    candidacyEffects: (effects) =>
      effects
        .filter((effect) => effect.kind !== 'tell' || effect.message.type !== 'takeover')
        .map((effect) =>
          effect.kind === 'post' && effect.message.type === 'heard'
            ? { ...effect, message: { ...effect.message, order: 'same' } }
            : effect,
        ),
  },
  'a candidate calls every leader newer': {
    candidacyEffects: (effects) =>
      effects.map((effect) =>
        effect.kind === 'post' && effect.message.type === 'heard'
          ? { ...effect, message: { ...effect.message, order: 'newer' } }
          : effect,
      ),
  },
  'a page does not search after its leader has died': {
    tabEvent: (event) => (event.kind === 'lost' ? null : event),
  },
  'a search has no limit': {
    tabEffects: (effects) => effects.filter(({ kind }) => kind !== 'limitSearch'),
  },
  'a page without a worker never starts it again': {
    tabEvent: (event) => (event.kind === 'restartDue' ? null : event),
  },
  'a page that rests never wakes': {
    tabEvent: (event) => (event.kind === 'wakeDue' || event.kind === 'first' ? null : event),
  },
  'a page rests though its worker leads': {
    tabEffects: (effects, event, { own, link }) =>
      event.kind === 'leads' && own !== null && link === null
        ? [...effects, { kind: 'abandon', worker: own.id }]
        : effects,
  },
  'a page does not ask who leads': {
    tabEffects: (effects) =>
      effects.filter((effect) => effect.kind !== 'tell' || effect.message.type !== 'who'),
    candidacyEffects: (effects) =>
      effects.filter((effect) => effect.kind !== 'tell' || effect.message.type !== 'who'),
  },
  'a page declines the connection of its worker': {
    tabEvent: (event) => (event.kind === 'leads' ? null : event),
  },
  'a succession waits for its own worker to lead': {
    tabEffects: (effects, event) =>
      event.kind === 'judged' ? effects.filter(({ kind }) => kind !== 'settleSuccession') : effects,
  },
};

function without(effects: readonly CandidacyEffect[], kind: CandidacyEffect['kind']) {
  return effects.filter((effect) => effect.kind !== kind);
}

/** The lock is released, and not requested again. */
function withoutRequest(effects: readonly CandidacyEffect[]) {
  return effects.some(({ kind }) => kind === 'release') ? without(effects, 'queue') : effects;
}
