/** What a person is told where reports go through a relay. */

import { h } from "./dom.js";

/** In every language of the page; only pages of such collections load this. */
export const WORDS = {
  en: (where, crowd, days) =>
    `Your reports are sealed and go through ${where}, which cannot open them and passes them on in groups of at least ${crowd}. As long as it does not work together with whoever asks, and the others in a group are real people, your report is one among theirs; otherwise the noise in your report still protects you. What finds no such group within ${days} days is dropped.`,
  ja: (where, crowd, days) =>
    `あなたの報告は封をして ${where} を通して送られます。そこでは中身を開くことができず、${crowd} 件以上集まるとまとめて渡します。そこと質問者が結託せず、ほかの報告が実在の人々のものであるかぎり、あなたの報告はその中の一つにすぎません。そうでない場合も、報告に加えた雑音があなたを守ります。${days} 日以内に件数が集まらない報告は破棄されます。`,
  zh: (where, crowd, days) =>
    `您的报告会密封后经由 ${where} 转交。对方无法打开报告，每次至少凑够 ${crowd} 份才一并转交。只要对方不与提问方串通，且其他报告来自真实的人，您的报告就只是其中之一；否则，报告中的噪声仍会保护您。${days} 天内凑不够份数的报告会被丢弃。`,
};

/** The sentences about the relay of a contract. */
export const relayView = ({ relay: { url, crowd, days } }, lang) =>
  h("p", { id: "relay", class: "notice" }, WORDS[lang](new URL(url).origin, crowd, days));
