// Makes the headers that announce a deprecation: Deprecation (RFC 9745), Sunset (RFC 8594), Link.
//
// Operations that end get all of them. An operation that continues in a changed form gets only the link to the
// description of the change, until the change applies.

import type { ScheduleEntry } from './entry.ts';
import type { EndOfOperation, Lookup } from './lookup.ts';
import { fillPath } from './paths.ts';

export interface HeaderOptions {
  /** The address of an HTML page with the schedule; the ids of entries are its fragments. @default no link */
  readonly documentation?: string;
  /** The prefix of paths in links. @default '' */
  readonly base?: string;
}

/**
 * Returns the headers for an answer to an operation; none if the schedule does not mention the operation.
 *
 * `Deprecation` is the day of the announcement, or the day of the end if the announcement is unknown, so `Sunset` is
 * never earlier.
 */
export function deprecationHeaders(
  found: Lookup,
  { documentation, base = '' }: HeaderOptions = {},
): Readonly<Record<string, string>> {
  switch (found.state) {
    case 'live':
      return {};
    case 'modified': {
      const coming = found.changes.filter(({ isInForce }) => !isInForce);
      return linkHeader(coming.flatMap(({ entry }) => descriptionLink(entry, documentation)));
    }
    case 'deprecated':
    case 'gone': {
      const { entry } = found.change;
      return {
        Deprecation: `@${secondsOf(entry.announced ?? entry.date)}`,
        Sunset: new Date(`${entry.date}T00:00:00Z`).toUTCString(),
        ...linkHeader([
          ...successorLink(found.change, base),
          ...descriptionLink(entry, documentation),
        ]),
      };
    }
  }
}

/**
 * Returns the path of the operation that replaces the called one, with its parameters filled in.
 *
 * If there are several, the path that shares the most parameters is chosen, then the path that shares the most words,
 * then the one with the same method: an item leads to an item, a list to a list.
 */
export function successorPath({
  replacement,
  operation,
  params,
}: EndOfOperation): string | undefined {
  const words = new Set(operation.path.split('/'));
  const candidates = (replacement?.operations ?? []).flatMap(({ method, path }) => {
    const filled = fillPath(path, params);
    if (filled === undefined) return [];
    const shared = path.split('/').filter((word) => words.has(word));
    const paramCount = shared.filter((word) => /^[:*]/.test(word)).length;
    const isSameMethod = method === operation.method;
    return [{ filled, rank: [paramCount, shared.length, Number(isSameMethod)] }];
  });
  const [best] = candidates.sort((a, b) => compareRanks(b.rank, a.rank));
  return best?.filled;
}

/** Compares two ranks by the first numbers that differ. */
function compareRanks(a: readonly number[], b: readonly number[]): number {
  const index = a.findIndex((value, i) => value !== b[i]);
  return index < 0 ? 0 : a[index]! - b[index]!;
}

function secondsOf(day: string): number {
  return Date.parse(`${day}T00:00:00Z`) / 1000;
}

function linkHeader(links: readonly string[]): Record<string, string> {
  return links.length > 0 ? { Link: links.join(', ') } : {};
}

function successorLink(change: EndOfOperation, base: string): string[] {
  const path = successorPath(change);
  return path === undefined ? [] : [`<${base}${path}>; rel="successor-version"`];
}

function descriptionLink({ id }: ScheduleEntry, documentation: string | undefined): string[] {
  return documentation === undefined
    ? []
    : [`<${documentation}#${id}>; rel="deprecation"; type="text/html"`];
}
