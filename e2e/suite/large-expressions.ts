// Large regular expressions that take linear time. To find that takes a second or more each, so each rest skips them, and a
// release checks them again.
//
// One that is changed is no longer in the list, and is checked like a new one. It is listed only to save time.

export const LARGE_EXPRESSIONS: readonly RegExp[] = [
  /'(?:[^']|'')*'?|"(?:[^"]|"")*"?|`(?:[^`]|``)*`?|\[[^\]]*\]?|--[^\n]*|\/\*(?:[^*]|\*(?!\/))*(?:\*\/)?|\s+|[^\s'"`[/;-]+|./gs,
  /(?:inverted index for FTS5 table main\.|^fts5: .* for table ")([^:"]*)/,
  /(?<![\p{L}\p{N}_])([\p{L}\p{N}_]+)\.$/u,
  /(?<![\p{L}\p{N}_])[\p{L}_][\p{L}\p{N}_]*$/u,
  /(?<![^\s()@])([^\s()@]+):(\d+):(\d+)/g,
  /(?<!\/)\/+$/,
  /(?<!\\)\$\{([^{}]+)\}|(?<!\\)\$([A-Za-z_]\w*)/,
  /(?<space>[ \r\t\n\f]+|--[^\n]*\n?|\/\*(?:[^*]|\*(?!\/))*(?:\*\/)?)|(?<end>;)|(?<word>[\w$\u0080-\uffff]+)|'[^']*'?|"[^"]*"?|`[^`]*`?|\[[^\]]*\]?|[^ \r\t\n\f;\w$\u0080-\uffff'"`[/-]+|[/-]/g,
  /(?<space>\s+|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|(?<quoted>'(?:[^']|'')*'?|"(?:[^"]|"")*"?|`(?:[^`]|``)*`?|\[[^\]]*\]?)|(?<variable>\?\d*|[:@#$][\w$\u0080-\uffff]+)|(?<number>\.?\d[\w.]*)|(?<word>[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*)|(?<symbol>[\s\S])/y,
  /;\s*charset\s*=\s*(?:"([^"]*)"|([^\s;]*))/i,
  /\b(?:vi|vitest)\s*\.\s*(?:mock|doMock)\s*\(/,
  /\bDROP\s+TABLE\s+(?:IF\s+EXISTS\s+)?(?:[`"[]([^`"\]]+)|(\w+))/gi,
  /^(?![ \t]*(?:\*|\/[/*])).*?(?<![\p{ID_Continue}$])@[\p{ID_Start}$_(]/mu,
  /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/,
  /^CREATE VIRTUAL TABLE (?:"(?:[^"]|"")*"|'(?:[^']|'')*'|`(?:[^`]|``)*`|\[[^\]]*\]|[^\s"'`[]+)/i,
  /^Max open files\s+(\d+)/m,
  /^Page \d+(?: is|:) never used$|^(Main )?freelist|^2nd reference/i,
  /^[a-z0-9]{1,255}$/i,
  /^\/+|(?<!\/)\/+$/g,
  /^_+|(?<!_)_+$/g,
  /^too many (columns|terms|arguments)|^Expression tree|the text is \d+ bytes/,
];
