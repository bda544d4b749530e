// Checks every message that arrives over a connection, because a peer can send anything.
//
// Invariant: a decoded message has exactly the fields of its type. The content of `args`, `changes`, `value`, `error`
// and `next` is not checked here; the code that reads them checks it.
//
// This file does not know how a message becomes bytes.

import {
  checkArray,
  checkBoolean,
  checkFields,
  checkInteger,
  checkNumberOf,
  checkString,
  eachOf,
  type Fields,
  malformed,
} from '@ctx-storage/core/contract';
import {
  CALL_FAILURES,
  type CallAnswers,
  type CopyMark,
  type CutBase,
  commonProtocol,
  type FollowedOutcome,
  type MarkedNumber,
  type MessageToFollower,
  type MessageToServer,
  type NumberedOutcome,
  type Position,
  type ProtocolRange,
  REJECT_REASONS,
  type RejectReason,
} from './messages.ts';

/**
 * A follower may say that it has at most this many parts. The server sends the next number, which must be a whole number,
 * too.
 */
const KEPT_PARTS_MAX = 2 ** 40;

/**
 * Matches the names of clients. SQLite and UTF-8 have no lone surrogates, so a name with other characters could be
 * stored as a different text.
 */
const CLIENT_NAME = /^[\w-]{1,64}$/;
const METHOD_UNITS_MAX = 256;
/** The most outcomes in one message: objects of protocol 1 stored more than `CALLS_IN_FLIGHT_MAX` of them. */
const OUTCOMES_MAX = 10_000;
const UINT32_MAX = 2 ** 32 - 1;

/** Returns a checked message from a follower. @throws INVALID_ARGUMENT */
export function decodeToServer(value: unknown): MessageToServer {
  const fields = checkFields('message', value);
  switch (fields.kind) {
    case 'hello':
      return hello(fields);
    case 'next':
      return {
        kind: 'next',
        copy: copyMark(fields.copy, KEPT_PARTS_MAX),
        receipt: receiptOf(fields),
      };
    case 'call':
      return {
        kind: 'call',
        n: callNumber(fields.n),
        mark: uint32('mark', fields.mark),
        method: boundedText('method', fields.method, METHOD_UNITS_MAX),
        args: fields.args,
        again: checkBoolean('again', fields.again),
        ack: checkNumberOf('ack', fields.ack),
      };
    case 'ack':
      return {
        kind: 'ack',
        ack: checkNumberOf('ack', fields.ack),
        receipt: uint32('receipt', fields.receipt),
      };
    default:
      throw malformed('kind', 'hello, next, call or ack');
  }
}

/**
 * Reads a hello. If there is no common version, the other fields may be missing or have other values, so only the
 * versions are read.
 */
function hello(fields: Fields): MessageToServer {
  const protocol = protocolRange(fields.protocol);
  if (commonProtocol(protocol) === null) {
    return { kind: 'hello', protocol, client: '', position: null, copy: null, ack: 0 };
  }
  return {
    kind: 'hello',
    protocol,
    client: clientName(fields.client),
    position: fields.position === null ? null : position('position', fields.position),
    copy: fields.copy === null ? null : copyMark(fields.copy, KEPT_PARTS_MAX),
    ack: checkNumberOf('ack', fields.ack),
  };
}

/** Returns a checked message from the server. @throws INVALID_ARGUMENT */
export function decodeToFollower(value: unknown): MessageToFollower {
  const fields = checkFields('message', value);
  switch (fields.kind) {
    case 'welcome':
      return {
        kind: 'welcome',
        protocol: checkNumberOf('protocol', fields.protocol),
        version: checkNumberOf('version', fields.version),
        received: markedNumber(fields.received),
      };
    case 'rejected':
      return {
        kind: 'rejected',
        reason: rejectReason(fields.reason),
        protocol: protocolRange(fields.protocol),
      };
    case 'part':
      return {
        kind: 'part',
        copy: copyMark(fields.copy),
        progress: fraction('progress', fields.progress),
        changes: fields.changes,
        receipt: receiptOf(fields),
      };
    case 'cut':
      return {
        kind: 'cut',
        onto: cutBase(fields.onto),
        to: position('to', fields.to),
        ...callAnswers(fields),
        changes: fields.changes,
        receipt: receiptOf(fields),
      };
    case 'ended':
      return { kind: 'ended', ...callAnswers(fields), receipt: receiptOf(fields) };
    default:
      throw malformed('kind', 'welcome, rejected, part, cut or ended');
  }
}

function receiptOf({ receipt }: Fields): number | null {
  return receipt === null ? null : uint32('receipt', receipt);
}

function markedNumber(value: unknown): MarkedNumber {
  const { n, mark } = checkFields('received', value);
  return { n: checkNumberOf('n', n), mark: mark === null ? null : uint32('mark', mark) };
}

function uint32(what: string, value: unknown): number {
  return checkInteger(what, value, 0, UINT32_MAX);
}

function clientName(value: unknown): string {
  const name = checkString('client', value);
  if (CLIENT_NAME.test(name)) return name;
  throw malformed('client', '1 to 64 letters, digits, _ or -');
}

function rejectReason(value: unknown): RejectReason {
  const reason = REJECT_REASONS.find((known) => known === value);
  if (reason === undefined) throw malformed('reason', REJECT_REASONS.join(' or '));
  return reason;
}

function fraction(what: string, value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value <= 1) return value;
  throw malformed(what, 'a number from 0 to 1');
}

function protocolRange(value: unknown): ProtocolRange {
  const fields = checkFields('protocol', value);
  const oldest = checkNumberOf('oldest', fields.oldest);
  return {
    oldest,
    newest: checkInteger('newest', fields.newest, oldest, Number.MAX_SAFE_INTEGER),
  };
}

function position(what: string, value: unknown): Position {
  const { id, life } = checkFields(what, value);
  return { id: checkNumberOf('id', id), life: uint32('life', life) };
}

function cutBase(value: unknown): CutBase {
  const fields = checkFields('onto', value);
  if (fields.kind === 'position') {
    return { kind: 'position', position: position('position', fields.position) };
  }
  if (fields.kind !== 'parts') throw malformed('onto.kind', 'position or parts');
  return { kind: 'parts', from: position('from', fields.from), count: partCount(fields.count) };
}

/**
 * Returns the checked progress of a snapshot. `next` is left unchecked: the server's `decodeCopyPlace` checks it when a
 * follower sends it back.
 */
function copyMark(value: unknown, partsMax?: number): CopyMark {
  const { from, at, parts, next } = checkFields('copy', value);
  return {
    from: position('from', from),
    at: position('at', at),
    parts: partCount(parts, partsMax),
    next,
  };
}

function partCount(value: unknown, most = Number.MAX_SAFE_INTEGER): number {
  return checkInteger('parts', value, 1, most);
}

function callAnswers({ last, outcomes }: Fields): CallAnswers {
  return {
    last: checkNumberOf('last', last),
    outcomes: eachOf(checkArray('outcomes', outcomes, OUTCOMES_MAX), numberedOutcome),
  };
}

function numberedOutcome(value: unknown): NumberedOutcome {
  const [n, outcome] = checkArray('outcome', value, 2);
  return [callNumber(n), callOutcome(outcome)];
}

function callOutcome(value: unknown): FollowedOutcome {
  const fields = checkFields('outcome', value);
  if (fields.kind === 'value') return { kind: 'value', value: fields.value };
  if (fields.kind === 'error') return { kind: 'error', error: fields.error };
  const code = CALL_FAILURES.find((known) => known === fields.code);
  if (fields.kind === 'failed' && code !== undefined) return { kind: 'failed', code };
  throw malformed('outcome', `a value, an error, or a failure (${CALL_FAILURES.join(', ')})`);
}

function callNumber(value: unknown): number {
  return checkInteger('n', value, 1, Number.MAX_SAFE_INTEGER);
}

function boundedText(what: string, value: unknown, unitsMax: number): string {
  const content = checkString(what, value);
  if (content.length > 0 && content.length <= unitsMax) return content;
  throw malformed(what, `a text of 1 to ${unitsMax} UTF-16 units`);
}
