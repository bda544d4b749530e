// Globs of wrangler's rules: `*` and `?` within a folder, `**` across folders, `{a,b}`.

const SPECIAL = /[.+^$()|[\]\\]/g;
const TOKENS = /\*\*\/|\*\*|\*|\?|\{|\}|,/g;

/** Returns a test of whether a whole path, with `/` between its folders, matches the glob. */
export function globMatcher(glob: string): (path: string) => boolean {
  let depth = 0;
  const source = glob.replace(SPECIAL, '\\$&').replace(TOKENS, (token) => {
    switch (token) {
      case '**/':
        return '(?:.*/)?';
      case '**':
        return '.*';
      case '*':
        return '[^/]*';
      case '?':
        return '[^/]';
      case '{':
        depth += 1;
        return '(?:';
      case '}':
        if (depth === 0) return '\\}';
        depth -= 1;
        return ')';
      default:
        return depth === 0 ? ',' : '|';
    }
  });
  // An unclosed brace ends with the glob.
  const pattern = new RegExp(`^${source}${')'.repeat(depth)}$`, 's');
  return (path) => pattern.test(path);
}
