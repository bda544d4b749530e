// List pages: `page` and `per_page` of the query, `result_info` of the answer.
//
// A list page past the end is empty, so a client that reads until a list page is empty terminates.

import { type Answer, apiError, type Call, succeeded } from './call.ts';

export interface ListPage {
  readonly number: number;
  readonly size: number;
}

export interface ListPageSizes {
  readonly usual: number;
  readonly most: number;
}

/** @throws ApiError 400 if a parameter is not a positive integer, or exceeds its limit */
export function listPageOf(query: Call['query'], sizes: ListPageSizes): ListPage {
  return {
    number: positive('page', query.page, 1, Number.MAX_SAFE_INTEGER),
    size: positive('per_page', query.per_page, sizes.usual, sizes.most),
  };
}

export function listPageAnswer(items: readonly unknown[], total: number, page: ListPage): Answer {
  return succeeded(items, {
    page: page.number,
    per_page: page.size,
    count: items.length,
    total_count: total,
    total_pages: Math.ceil(total / page.size),
  });
}

function positive(name: string, text: string | undefined, usual: number, most: number): number {
  if (text === undefined) return usual;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= most) return value;
  throw apiError('PAGE_INVALID', `${name} is "${text}"; it must be an integer from 1 to ${most}.`);
}
