// The condition `onlyIf`, under which a get or put is performed. It is given as options or as the headers of a request.

export type Etag =
  | { readonly type: 'strong' | 'weak'; readonly value: string }
  | { readonly type: 'any' };

export interface Condition {
  readonly etagMatches?: readonly Etag[];
  readonly etagDoesNotMatch?: readonly Etag[];
  /** A time in milliseconds since the epoch, as is `uploadedAfter`. */
  readonly uploadedBefore?: number;
  readonly uploadedAfter?: number;
  /** True if times are compared as whole seconds. */
  readonly secondsGranularity: boolean;
}

/** The members of a stored object that conditions compare. */
interface Uploaded {
  readonly etag: string;
  readonly uploaded: number;
}

export function isConditionMet(condition: Condition, stored: Uploaded | undefined): boolean {
  const { etagMatches, etagDoesNotMatch, uploadedBefore, uploadedAfter } = condition;
  if (stored === undefined) return etagMatches === undefined && uploadedAfter === undefined;
  const inComparedUnit = (ms: number) =>
    condition.secondsGranularity ? Math.floor(ms / 1000) : ms;
  const uploaded = inComparedUnit(stored.uploaded);
  const matches = etagMatches === undefined || includesEtag(etagMatches, stored.etag, false);
  const differs =
    etagDoesNotMatch === undefined || !includesEtag(etagDoesNotMatch, stored.etag, true);
  const isAfter = uploadedAfter === undefined || inComparedUnit(uploadedAfter) < uploaded;
  const isBefore = uploadedBefore === undefined || uploaded < inComparedUnit(uploadedBefore);
  return (
    matches &&
    differs &&
    // A condition on the ETag takes precedence over one on the time.
    (isAfter || etagDoesNotMatch !== undefined) &&
    (isBefore || etagMatches !== undefined)
  );
}

function includesEtag(etags: readonly Etag[], stored: string, acceptsWeak: boolean): boolean {
  return etags.some(
    (etag) =>
      etag.type === 'any' || (etag.value === stored && (acceptsWeak || etag.type === 'strong')),
  );
}

/** Reads the condition from headers such as `if-match`. @throws Error if an ETag in them is not valid */
export function conditionOfHeaders(headers: Headers): Condition {
  const etagsOfHeader = (name: string): readonly Etag[] | undefined => {
    const value = headers.get(name);
    if (value === null) return undefined;
    const found = parseEtags(value);
    if (found.length === 0) throw new Error(`Invalid ETag in ${name} header`);
    return found;
  };
  const timeOfHeader = (name: string): number | undefined => {
    const value = headers.get(name);
    // Text that is not a date counts as the epoch, as in workerd.
    return value === null ? undefined : Date.parse(value) || 0;
  };
  return withoutUndefined({
    etagMatches: etagsOfHeader('if-match'),
    etagDoesNotMatch: etagsOfHeader('if-none-match'),
    uploadedAfter: timeOfHeader('if-modified-since'),
    uploadedBefore: timeOfHeader('if-unmodified-since'),
    secondsGranularity: true,
  });
}

/** Removes the members that are undefined. */
export function withoutUndefined(
  condition: {
    readonly [Name in keyof Condition]: Condition[Name] | undefined;
  },
): Condition {
  const entries = Object.entries(condition).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as unknown as Condition;
}

/**
 * Returns the ETags at the start of a header, up to the first other text.
 *
 * @throws Error if one is not written correctly
 */
function parseEtags(header: string): Etag[] {
  const etags: Etag[] = [];
  let rest = header.replace(/^[ \t]+/, '');
  let needsComma = false;
  while (rest !== '') {
    if (rest.startsWith(',')) {
      needsComma = false;
      rest = rest.slice(1);
    } else if (/^[*W"]/.test(rest)) {
      if (needsComma)
        throw new Error(`Comma was expected to separate etags. ${missingCommaHint(rest[0]!)}`);
      if (rest.startsWith('*')) return [{ type: 'any' }];
      const acceptsWeak = rest.startsWith('W');
      if (acceptsWeak && !rest.startsWith('W/"')) {
        throw new Error('Weak etags must start with W/ and their value must be quoted');
      }
      const start = acceptsWeak ? 3 : 1;
      const end = rest.indexOf('"', start);
      if (end === -1) throw new Error('Unclosed double quote for Etag');
      etags.push({ type: acceptsWeak ? 'weak' : 'strong', value: rest.slice(start, end) });
      rest = rest.slice(end + 1);
      needsComma = true;
    } else break;
    rest = rest.replace(/^[ \t]+/, '');
  }
  return etags;
}

function missingCommaHint(first: string): string {
  if (first === '*') return "Encountered a wildcard character '*' instead.";
  const [kind, strength] = first === 'W' ? ['weak quotation', 'weak'] : ['double quote', 'strong'];
  return (
    `Encountered a ${kind} character '${first}' instead. ` +
    `This would otherwise indicate the start of a new ${strength} etag.`
  );
}
