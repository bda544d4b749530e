// Writes messages and effects as short texts, for the traces that lead to a broken promise.
//
// The texts are for readers only: two different messages may have the same text.

import type { FollowerEffect, SettledOutcome } from '../follower.ts';
import type {
  CopyMark,
  MessageToFollower,
  MessageToServer,
  NumberedOutcome,
  Position,
} from '../messages.ts';

export function messageInWords(message: MessageToServer | MessageToFollower): string {
  switch (message.kind) {
    case 'hello':
      return `hello (${positionInWords(message.position)}, ${copyInWords(message.copy)}, ack ${message.ack})`;
    case 'next':
      return `next after ${copyInWords(message.copy)}`;
    case 'call': {
      const again = message.again ? 'again ' : '';
      return `${again}call ${message.n} ${String(message.args)} (ack ${message.ack})`;
    }
    case 'ack':
      return `ack ${message.ack}`;
    case 'welcome':
    case 'rejected':
      return message.kind;
    case 'part':
      return `part: ${copyInWords(message.copy)}`;
    case 'cut': {
      const { onto, to } = message;
      const from =
        onto.kind === 'parts'
          ? `${onto.count} parts since ${positionInWords(onto.from)}`
          : positionInWords(onto.position);
      return `cut from ${from} to ${positionInWords(to)}${answersInWords(message)}`;
    }
    case 'ended':
      return `ended${answersInWords(message)}`;
  }
}

export function effectInWords(effect: FollowerEffect): string {
  switch (effect.kind) {
    case 'enqueue':
      return `enqueue ${effect.call.n}`;
    case 'dequeue': {
      const refused = effect.refusals.map(({ call }) => call.n);
      return `dequeue to ${effect.last}${refused.length > 0 ? `, refused ${refused}` : ''}`;
    }
    case 'applyCut':
      return `apply cut to ${positionInWords(effect.mark.position)}`;
    case 'settle':
      return `settle ${effect.n} (${outcomeInWords(effect.outcome)})`;
    case 'send':
      return `send ${messageInWords(effect.message)}`;
    default:
      return effect.kind;
  }
}

function answersInWords({
  last,
  outcomes,
}: {
  readonly last: number;
  readonly outcomes: readonly NumberedOutcome[];
}): string {
  const each = outcomes.map(([n, outcome]) => `${n} ${outcomeInWords(outcome)}`).join(', ');
  return ` (last ${last}${each && `: ${each}`})`;
}

export function outcomeInWords(outcome: SettledOutcome): string {
  return outcome.kind === 'failed' ? outcome.code : outcome.kind;
}

function copyInWords(copy: CopyMark | null): string {
  return copy === null ? 'no parts' : `${copy.parts} parts since ${positionInWords(copy.from)}`;
}

function positionInWords(position: Position | null): string {
  return position === null ? 'nothing' : `${position.id}@${position.life}`;
}
