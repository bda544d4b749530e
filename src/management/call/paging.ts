// Pages of a list: `page` and `per_page` of the query, `result_info` of the answer.
//
// A page past the end is an empty list, so a client that asks until a page is empty comes to an end.

import { type Answer, apiError, type Call, succeeded } from './call.ts';

export interface Page {
  readonly number: number;
  readonly size: number;
}

export interface PageSizes {
  readonly usual: number;
  readonly most: number;
}

/** @throws ApiError 400 when one is no positive integer, or a page would be too large */
export function pageOf(query: Call['query'], sizes: PageSizes): Page {
  return {
    number: positive('page', query.page, 1, Number.MAX_SAFE_INTEGER),
    size: positive('per_page', query.per_page, sizes.usual, sizes.most),
  };
}

export function pageAnswer(items: readonly unknown[], total: number, page: Page): Answer {
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
  throw apiError('PAGE_INVALID', `${name} is "${text}"; it must be from 1 to ${most}.`);
}
