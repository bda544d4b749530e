// Normalizes DNS names: lower case, ASCII (other labels in Punycode), no dot at the end.

/** UTS 46 treats these as dots. */
const DOTS = /[.\u3002\uff0e\uff61]/;
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
const NAME_LENGTH_MAX = 253;

/** The normalized name; undefined if it is invalid. A first label `*` is a wildcard. */
export function dnsName(text: string): string | undefined {
  const labels = text.split(DOTS);
  if (labels.length > 1 && labels.at(-1) === '') labels.pop();
  const [first, ...rest] = labels;
  const spelled = [first === '*' ? '*' : asciiLabel(first!), ...rest.map(asciiLabel)];
  const name = spelled.join('.');
  return spelled.includes(undefined) || name.length > NAME_LENGTH_MAX ? undefined : name;
}

/** A name that a host can have: not a wildcard, not an address. */
export function hostName(text: string): string | undefined {
  const name = dnsName(text);
  // With only digits in the last label it would be an address (RFC 3696, section 2).
  return name === undefined || name.startsWith('*') || /(?:^|\.)\d+$/.test(name) ? undefined : name;
}

/** The label in ASCII; undefined if it is invalid, or its Punycode cannot be decoded. */
function asciiLabel(label: string): string | undefined {
  const lower = label.toLowerCase();
  const isPlain = /^[ -~]*$/.test(lower) && !lower.startsWith('xn--');
  const ascii = isPlain ? lower : punycode(label);
  return ascii !== undefined && LABEL.test(ascii) ? ascii : undefined;
}

/** Uses the URL parser that every engine has. The second label keeps digits from being read as an address. */
function punycode(label: string): string | undefined {
  const url = `http://${label}.x`;
  // These would end the host.
  if (/[/?#\\@:]/.test(label) || !URL.canParse(url)) return undefined;
  return new URL(url).hostname.slice(0, -'.x'.length);
}
