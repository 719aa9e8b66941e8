/** What a person is told where each is asked some of many questions, or on one of many days. */

import { h } from "./dom.js";

/** In every language of the page; only pages of such collections load this. */
export const WORDS = {
  en: {
    asked: (k, of) =>
      `You were asked ${k} of ${of} questions, drawn at random on this device; as the collection stands, nothing is sent about the others. An answer then needs less noise, and a revision takes no more than is stated below unless you agree.`,
    day: (day, days) => `You answer on one of ${days} days, drawn at random on this device: ${day} (UTC).`,
    early: "That day has not come. Please come back then; nothing can be sent before.",
    late: "That day is over, and nothing more is asked of you.",
    error: "This was not asked of you, or not today. Nothing was sent.",
  },
  ja: {
    asked: (k, of) =>
      `${of} 問のうち ${k} 問だけをお尋ねしています。どれを尋ねるかは、この端末が無作為に選びました。今の内容のままなら、ほかの質問については何も送られません。こうすると一つの答えに加えるノイズが少なくて済みます。改訂があっても、あなたの同意なしに下に示す上限を超えることはありません。`,
    day: (day, days) => `${days} 日のうちの一日だけ、お答えいただきます。この端末が無作為に選んだ日は ${day}（協定世界時）です。`,
    early: "その日はまだ来ていません。当日にもう一度お越しください。それまでは何も送れません。",
    late: "その日は過ぎました。これ以上お尋ねすることはありません。",
    error: "この質問はあなたには尋ねられていないか、今日はその日ではありません。何も送られていません。",
  },
  zh: {
    asked: (k, of) =>
      `${of} 个问题中只问您 ${k} 个，由本设备随机抽取；按目前的内容，其余问题不会发送任何内容。这样每个答案需要的噪声更少；即使以后修订，未经您同意也不会超过下面写明的上限。`,
    day: (day, days) => `您只在 ${days} 天中的一天作答，由本设备随机抽取：${day}（协调世界时）。`,
    early: "这一天还没有到。请到那天再来，在此之前不会发送任何内容。",
    late: "这一天已经过去，不会再问您别的。",
    error: "这个问题没有问您，或者今天不是抽到的那一天。没有发送任何内容。",
  },
};

/** What was drawn, and why nothing else is asked. */
export function askedView({ questions, of, day, days, open }, lang) {
  const words = WORDS[lang];
  const said = [];
  if (questions.length < of) said.push(words.asked(questions.length, of));
  if (day !== null) {
    const date = new Date(`${day}T00:00:00Z`);
    said.push(words.day(new Intl.DateTimeFormat(lang, { dateStyle: "long", timeZone: "UTC" }).format(date), days));
    if (!open) said.push(date > new Date() ? words.early : words.late);
  }
  return h("div", { id: "asked", class: "notice" }, said.map((sentence) => h("p", {}, sentence)));
}
