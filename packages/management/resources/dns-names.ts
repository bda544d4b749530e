// Normalizes DNS names to lower case and ASCII (Punycode for other characters), without a dot at the end.

/** The characters that separate labels; UTS 46 treats all of them as dots. */
const DOTS = /[.\u3002\uff0e\uff61]/;
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
const NAME_LENGTH_MAX = 253;

/** Returns the normalized name; undefined if it is invalid. `*` as the first label is a wildcard, and valid. */
export function dnsName(text: string): string | undefined {
  const labels = text.split(DOTS);
  if (labels.length > 1 && labels.at(-1) === '') labels.pop();
  const [first, ...rest] = labels;
  const spelled = [first === '*' ? '*' : asciiLabel(first!), ...rest.map(asciiLabel)];
  const name = spelled.join('.');
  return spelled.includes(undefined) || name.length > NAME_LENGTH_MAX ? undefined : name;
}

/** Returns the normalized name if it can be a host's: not a wildcard, and not an IP address. */
export function hostName(text: string): string | undefined {
  const name = dnsName(text);
  // A name whose last label has only digits would be read as an IP address (RFC 3696, section 2).
  return name === undefined || name.startsWith('*') || /(?:^|\.)\d+$/.test(name) ? undefined : name;
}

/** Returns the label in ASCII; undefined if it is invalid, or its Punycode cannot be decoded. */
function asciiLabel(label: string): string | undefined {
  const lower = label.toLowerCase();
  const isPlain = /^[ -~]*$/.test(lower) && !lower.startsWith('xn--');
  const ascii = isPlain ? lower : punycode(label);
  return ascii !== undefined && LABEL.test(ascii) ? ascii : undefined;
}

/**
 * Encodes a label in Punycode with the URL parser, which every engine has. The second label keeps digits from being
 * read as an IP address.
 */
function punycode(label: string): string | undefined {
  const url = `http://${label}.x`;
  // These characters would end the host of the URL.
  if (/[/?#\\@:]/.test(label) || !URL.canParse(url)) return undefined;
  return new URL(url).hostname.slice(0, -'.x'.length);
}
