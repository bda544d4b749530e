// When an operation is performed: `onlyIf`, as options or as the headers of a request.

export type Etag =
  | { readonly type: 'strong' | 'weak'; readonly value: string }
  | { readonly type: 'any' };

export interface Condition {
  readonly etagMatches?: readonly Etag[];
  readonly etagDoesNotMatch?: readonly Etag[];
  /** In milliseconds since the epoch. */
  readonly uploadedBefore?: number;
  readonly uploadedAfter?: number;
  /** True: times are compared by seconds. */
  readonly secondsGranularity: boolean;
}

/** The stored object, as far as conditions concern it. */
interface Uploaded {
  readonly etag: string;
  readonly uploaded: number;
}

export function isMet(condition: Condition, stored: Uploaded | undefined): boolean {
  const { etagMatches, etagDoesNotMatch, uploadedBefore, uploadedAfter } = condition;
  if (stored === undefined) return etagMatches === undefined && uploadedAfter === undefined;
  const time = (ms: number) => (condition.secondsGranularity ? Math.floor(ms / 1000) : ms);
  const uploaded = time(stored.uploaded);
  const matches = etagMatches === undefined || includes(etagMatches, stored.etag, false);
  const differs = etagDoesNotMatch === undefined || !includes(etagDoesNotMatch, stored.etag, true);
  const isAfter = uploadedAfter === undefined || time(uploadedAfter) < uploaded;
  const isBefore = uploadedBefore === undefined || uploaded < time(uploadedBefore);
  return (
    matches &&
    differs &&
    // A condition on the ETag that is met has precedence over one on the time.
    (isAfter || etagDoesNotMatch !== undefined) &&
    (isBefore || etagMatches !== undefined)
  );
}

function includes(etags: readonly Etag[], stored: string, isWeak: boolean): boolean {
  return etags.some(
    (etag) => etag.type === 'any' || (etag.value === stored && (isWeak || etag.type === 'strong')),
  );
}

/** @throws Error */
export function conditionOfHeaders(headers: Headers): Condition {
  const etags = (name: string): readonly Etag[] | undefined => {
    const value = headers.get(name);
    if (value === null) return undefined;
    const found = parseEtags(value);
    if (found.length === 0) throw new Error(`Invalid ETag in ${name} header`);
    return found;
  };
  const time = (name: string): number | undefined => {
    const value = headers.get(name);
    // A text that is not a date counts as the epoch.
    return value === null ? undefined : Date.parse(value) || 0;
  };
  return defined({
    etagMatches: etags('if-match'),
    etagDoesNotMatch: etags('if-none-match'),
    uploadedAfter: time('if-modified-since'),
    uploadedBefore: time('if-unmodified-since'),
    secondsGranularity: true,
  });
}

/** Without the members that are undefined. */
export function defined(
  condition: {
    readonly [Name in keyof Condition]: Condition[Name] | undefined;
  },
): Condition {
  const entries = Object.entries(condition).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as unknown as Condition;
}

/** Reads up to the first text that is no ETag. @throws Error */
function parseEtags(header: string): Etag[] {
  const etags: Etag[] = [];
  let rest = header.replace(/^[ \t]+/, '');
  let needsComma = false;
  while (rest !== '') {
    if (rest.startsWith(',')) {
      needsComma = false;
      rest = rest.slice(1);
    } else if (/^[*W"]/.test(rest)) {
      if (needsComma) throw new Error(`Comma was expected to separate etags. ${missing(rest[0]!)}`);
      if (rest.startsWith('*')) return [{ type: 'any' }];
      const isWeak = rest.startsWith('W');
      if (isWeak && !rest.startsWith('W/"')) {
        throw new Error('Weak etags must start with W/ and their value must be quoted');
      }
      const start = isWeak ? 3 : 1;
      const end = rest.indexOf('"', start);
      if (end === -1) throw new Error('Unclosed double quote for Etag');
      etags.push({ type: isWeak ? 'weak' : 'strong', value: rest.slice(start, end) });
      rest = rest.slice(end + 1);
      needsComma = true;
    } else break;
    rest = rest.replace(/^[ \t]+/, '');
  }
  return etags;
}

function missing(first: string): string {
  if (first === '*') return "Encountered a wildcard character '*' instead.";
  const [kind, what] = first === 'W' ? ['weak quotation', 'weak'] : ['double quote', 'strong'];
  return (
    `Encountered a ${kind} character '${first}' instead. ` +
    `This would otherwise indicate the start of a new ${what} etag.`
  );
}
