// Names of DNS in their one spelling: lower case, ASCII (Punycode where they are not), no dot at the end.

/** UTS 46 takes these for dots. */
const DOTS = /[.\u3002\uff0e\uff61]/;
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
const NAME_LENGTH_MAX = 253;

/** The name in its one spelling; undefined when it is none. A first label `*` is a wildcard. */
export function dnsName(text: string): string | undefined {
  const labels = text.split(DOTS);
  if (labels.length > 1 && labels.at(-1) === '') labels.pop();
  const [first, ...rest] = labels;
  const spelled = [first === '*' ? '*' : asciiLabel(first!), ...rest.map(asciiLabel)];
  const name = spelled.join('.');
  return spelled.includes(undefined) || name.length > NAME_LENGTH_MAX ? undefined : name;
}

/** A name that something can be reached by: no wildcard, no address. */
export function hostName(text: string): string | undefined {
  const name = dnsName(text);
  // A last label of digits would make an address of it (RFC 3696, section 2).
  return name === undefined || name.startsWith('*') || /(?:^|\.)\d+$/.test(name) ? undefined : name;
}

/** The label in ASCII; undefined when it is none, also where its Punycode says nothing. */
function asciiLabel(label: string): string | undefined {
  const lower = label.toLowerCase();
  const isPlain = /^[ -~]*$/.test(lower) && !lower.startsWith('xn--');
  const ascii = isPlain ? lower : punycode(label);
  return ascii !== undefined && LABEL.test(ascii) ? ascii : undefined;
}

/** By the URL standard, which every engine has; the second label keeps digits from being an address. */
function punycode(label: string): string | undefined {
  const url = `http://${label}.x`;
  // These would end the host.
  if (/[/?#\\@:]/.test(label) || !URL.canParse(url)) return undefined;
  return new URL(url).hostname.slice(0, -'.x'.length);
}
