//! A server whose answers are the words of the questions: what an assistant's call becomes.

use ketcd_mcp::{Answer, Answers, Question, Refusal, Server, serve_stdio};

#[derive(Clone)]
struct Words;

impl Answers for Words {
    async fn ask(&self, question: Question) -> Result<Answer, Refusal> {
        Ok(Answer { text: question.words.join(" "), ..Answer::default() })
    }
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    serve_stdio(Server::new(Words, &[])).await
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_call_becomes_words() {
        let arguments = serde_json::json!({"address": "pods"}).as_object().cloned().unwrap();
        assert_eq!(ketcd_mcp::read_call("get", arguments).unwrap().words, ["get", "--", "pods"]);
    }
}
